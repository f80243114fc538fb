//! Version numbers of agents.

use std::fmt;

use serde::{Serialize, Serializer};

/// A version number of three parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Returns the first version number in the version output of a program, such as `codex-cli 0.166.0`.
    ///
    /// A date such as `2026.10.01-e373342` counts as a version number.
    pub fn find_in(text: &str) -> Option<Self> {
        text.split(|c: char| c.is_whitespace() || matches!(c, '/' | '(' | ')'))
            .find_map(Self::parse)
    }

    fn parse(word: &str) -> Option<Self> {
        let word = word.strip_prefix('v').unwrap_or(word);
        let mut parts = word.splitn(3, '.');
        let major = parts.next()?.parse().ok()?;
        let minor = leading_number(parts.next()?)?;
        let patch = parts.next().and_then(leading_number).unwrap_or(0);
        Some(Self(major, minor, patch))
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_found_in_program_output() {
        let check = |text: &str, expected| assert_eq!(Version::find_in(text), expected, "{text}");
        check("codex-cli 0.166.0", Some(Version(0, 166, 0)));
        check("2.1.325 (Claude Code)", Some(Version(2, 1, 325)));
        check("0.24.4\n", Some(Version(0, 24, 4)));
        check("2026.10.01-e373342", Some(Version(2026, 10, 1)));
        check("windlass/0.166.0 (Debian 12.0.0)", Some(Version(0, 166, 0)));
        check("v1.2", Some(Version(1, 2, 0)));
        check("command not found", None);
        check("99999999999.1.1", None);
    }
}
