//! The user's git settings: name, email address and signing key.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::user_program;

/// The settings that are read.
const PATTERN: &str = r"^(user\.(name|email|signingkey)|gpg\.(format|ssh\.allowedsignersfile))$";

/// The user's git settings that apply in one directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GitSettings {
    values: BTreeMap<String, String>,
}

impl GitSettings {
    /// Reads the settings. They are empty if git is missing or nothing is set.
    pub(crate) async fn read(root: &Path) -> Self {
        let args = ["config", "--null", "--get-regexp", PATTERN].map(OsString::from);
        match user_program::run("git", &args, root, Vec::new()).await {
            Ok(output) if output.exit.success() => Self::parse(&output.stdout.text()),
            _ => Self::default(),
        }
    }

    /// Parses the output of `git config --null --get-regexp`. The last value of a name counts.
    fn parse(text: &str) -> Self {
        let entries = text.split('\0').filter_map(|entry| entry.split_once('\n'));
        let values = entries.map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        Self {
            values: values.filter(|(_, value)| !value.is_empty()).collect(),
        }
    }

    /// Returns the name and the email address for commits, if both are set.
    pub(crate) fn author(&self) -> Option<(&str, &str)> {
        Some((self.get("user.name")?, self.get("user.email")?))
    }

    /// Returns the ssh key for signatures, if one is configured.
    pub(crate) fn signing_key(&self) -> Option<PathBuf> {
        let is_ssh = self.get("gpg.format") == Some("ssh");
        self.get("user.signingkey").filter(|_| is_ssh).map(expand)
    }

    /// Returns the file that lists the keys of people, if one is configured.
    pub(crate) fn allowed_signers(&self) -> Option<PathBuf> {
        self.get("gpg.ssh.allowedsignersfile").map(expand)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}

/// Replaces `~/` with the home directory, as git does.
fn expand(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_value_counts() {
        let text = "user.name\nA\0user.email\na@example.org\0user.name\nB C\0gpg.format\nssh\0user.signingkey\n/k\0";
        let settings = GitSettings::parse(text);
        assert_eq!(settings.author(), Some(("B C", "a@example.org")));
        assert_eq!(settings.signing_key(), Some(PathBuf::from("/k")));
    }

    #[test]
    fn author_needs_both_parts_and_a_key_needs_the_format() {
        let settings = GitSettings::parse("user.name\nA\0user.signingkey\n/k\0");
        assert_eq!(settings.author(), None);
        assert_eq!(settings.signing_key(), None);
    }
}
