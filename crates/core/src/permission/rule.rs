//! Answers given in advance, for a kind of tool, a tool or a place.

use std::fmt;
use std::path::Path;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::PermissionRequest;
use crate::{PermissionPolicy, ToolKind};

/// One answer given in advance. What it does not name it does not mind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermissionRule {
    /// What the tool does to the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// The tool's name, as the agent calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A file, or a folder with all that is in it, from the session's folder; `*` stands for any part of a name, `**` for
    /// any folders. A rule that allows wants every path of the question to be there, any other one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The answer.
    pub answer: PermissionPolicy,
}

impl PermissionRule {
    /// This answer to everything.
    pub fn new(answer: PermissionPolicy) -> Self {
        Self {
            kind: None,
            tool: None,
            path: None,
            answer,
        }
    }

    /// Only for tools of this kind.
    #[must_use]
    pub fn kind(mut self, kind: ToolKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Only for the tool of this name.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// Only for this place.
    #[must_use]
    pub fn path(mut self, pattern: impl Into<String>) -> Self {
        self.path = Some(pattern.into());
        self
    }

    /// Whether the question is one that this rule answers.
    pub fn applies_to(&self, ask: &PermissionRequest) -> bool {
        let there = |pattern: &String| {
            let at = |path: &std::path::PathBuf| path_matches(pattern, path);
            match self.answer {
                PermissionPolicy::Allow => !ask.paths.is_empty() && ask.paths.iter().all(at),
                _ => ask.paths.iter().any(at),
            }
        };
        self.kind.is_none_or(|kind| ask.kind == Some(kind))
            && self.tool.as_ref().is_none_or(|tool| *tool == ask.tool)
            && self.path.as_ref().is_none_or(there)
    }
}

/// Whether the path is the place that the pattern names, or in it.
fn path_matches(pattern: &str, path: &Path) -> bool {
    let parts = |text: &str| -> Vec<String> {
        let kept = |part: &&str| !part.is_empty() && *part != ".";
        text.split('/').filter(kept).map(str::to_owned).collect()
    };
    let path = path.to_string_lossy();
    // What is outside the folder begins at the root, and so must the pattern.
    pattern.starts_with('/') == path.starts_with('/')
        && pattern_matches(&parts(pattern), &parts(&path))
}

fn pattern_matches(pattern: &[String], path: &[String]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, _) => true,
        (Some((first, rest)), _) if first == "**" => {
            (0..=path.len()).any(|skipped| pattern_matches(rest, &path[skipped..]))
        }
        (Some((first, rest)), Some((name, below))) => {
            glob_matches(first, name) && pattern_matches(rest, below)
        }
        (Some(_), None) => false,
    }
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn glob_matches(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut rest) = name.strip_prefix(head) else {
        return false;
    };
    let mut pieces: Vec<&str> = tail.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A policy with its exceptions: in a configuration a word, or a table with `default` and `rules`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Permissions {
    /// The answer where no rule fits.
    pub default: PermissionPolicy,
    /// The first that fits is the answer.
    pub rules: Vec<PermissionRule>,
}

impl From<PermissionPolicy> for Permissions {
    fn from(default: PermissionPolicy) -> Self {
        Self {
            default,
            rules: Vec::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(PermissionsVisitor)
    }
}

struct PermissionsVisitor;

impl<'de> Visitor<'de> for PermissionsVisitor {
    type Value = Permissions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("allow, deny or ask, or a table with `default` and `rules`")
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Permissions, E> {
        PermissionPolicy::deserialize(StrDeserializer::new(word)).map(Permissions::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Permissions, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct RuleTable {
            default: PermissionPolicy,
            #[serde(default)]
            rules: Vec<PermissionRule>,
        }
        let table = RuleTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Permissions {
            default: table.default,
            rules: table.rules,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::super::{Decision, decide, rule_path};
    use super::*;

    fn ask(kind: ToolKind, paths: &[&str]) -> PermissionRequest {
        let folder = Path::new("/yard");
        PermissionRequest {
            tool: "edit".to_owned(),
            kind: Some(kind),
            paths: paths
                .iter()
                .map(|path| rule_path(folder, Path::new(path)))
                .collect(),
            ..PermissionRequest::default()
        }
    }

    #[test]
    fn a_path_is_seen_without_detours() {
        let check = |path: &str, seen: &str| {
            assert_eq!(
                rule_path(Path::new("/yard"), Path::new(path)),
                PathBuf::from(seen)
            );
        };
        check("src/a.rs", "src/a.rs");
        check("./src/../b", "b");
        check("/yard/c", "c");
        check("../etc/passwd", "/etc/passwd");
        check("/yard/../yard2/c", "/yard2/c");
        check("../../../../x", "/x");
    }

    #[test]
    fn places() {
        let check = |pattern: &str, path: &str, held| {
            let seen = rule_path(Path::new("/yard"), Path::new(path));
            assert_eq!(path_matches(pattern, &seen), held, "{pattern} {path}");
        };
        check("src", "src/deep/a.rs", true);
        check("src", "srcs/a.rs", false);
        check("src/", "src", true);
        check("src/*.rs", "src/a.rs", true);
        check("src/*.rs", "src/deep/a.rs", false);
        check("**/*.env", "deep/er/x.env", true);
        check("**/*.env", "x.env", true);
        check("*.to*l", "Cargo.toml", true);
        check("*.to*l", "Cargo.tom", false);
        check("src", "../src/a", false);
        check("/etc", "../etc/passwd", true);
        check("/etc", "etc/passwd", false);
        check(".", "anything", true);
        check(".", "/outside", false);
    }

    #[test]
    fn p20_the_first_rule_that_fits_answers() {
        use PermissionPolicy::{Allow, Ask, Deny};
        let rules = [
            PermissionRule::new(Deny).path(".git"),
            PermissionRule::new(Allow).kind(ToolKind::Read),
            PermissionRule::new(Allow).kind(ToolKind::Write).path("src"),
            PermissionRule::new(Ask).tool("deploy"),
        ];
        let check = |ask: PermissionRequest, decision| {
            assert_eq!(decide(Deny, &rules, &ask), decision, "{ask:?}");
        };
        check(ask(ToolKind::Read, &["a"]), Decision::Allow);
        check(ask(ToolKind::Read, &[".git/config"]), Decision::Deny);
        check(ask(ToolKind::Write, &["src/a", "src/b"]), Decision::Allow);
        check(ask(ToolKind::Write, &["src/a", "b"]), Decision::Deny);
        check(
            ask(ToolKind::Write, &["src/a", ".git/hooks/x"]),
            Decision::Deny,
        );
        check(ask(ToolKind::Write, &["src/../.git/x"]), Decision::Deny);
        // A place that nobody named is not one that was allowed.
        check(ask(ToolKind::Write, &[]), Decision::Deny);
        let deploy = PermissionRequest {
            tool: "deploy".to_owned(),
            ..PermissionRequest::default()
        };
        check(deploy, Decision::AskApprover);
    }

    #[test]
    fn a_word_or_a_table() {
        let read = |value| serde_json::from_value::<Permissions>(value);
        assert_eq!(
            read(json!("allow")).unwrap(),
            PermissionPolicy::Allow.into()
        );
        let table = json!({ "default": "ask", "rules": [{ "kind": "read", "answer": "allow" }] });
        let read_one = read(table).unwrap();
        assert_eq!(read_one.default, PermissionPolicy::Ask);
        assert_eq!(read_one.rules[0].kind, Some(ToolKind::Read));
        let said = |value| read(value).unwrap_err().to_string();
        assert!(said(json!("maybe")).starts_with("unknown variant"));
        assert!(said(json!({ "rules": [] })).contains("default"));
        assert!(
            said(json!({ "default": "ask", "rules": [{ "paths": "x", "answer": "deny" }] }))
                .contains("unknown field")
        );
    }
}
