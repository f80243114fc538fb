//! Permission rules: answers given in advance for a kind of tool, a tool or a path.

use std::fmt;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{PermissionPolicy, PermissionRequest};
use crate::ToolKind;

/// A permission rule. A field that is not set matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermissionRule {
    /// The effect of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// The tool's name, as the agent calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A file, or a directory with everything in it, relative to the session's directory. `*` matches any
    /// part of a name, `**` any number of directories. A rule that allows applies only if it matches all
    /// paths of the request; any other rule applies if it matches one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The answer.
    pub answer: PermissionPolicy,
}

impl PermissionRule {
    /// Creates a rule that applies to every request.
    pub fn new(answer: PermissionPolicy) -> Self {
        Self {
            kind: None,
            tool: None,
            path: None,
            answer,
        }
    }

    /// Restricts the rule to tools of this kind.
    #[must_use]
    pub fn kind(mut self, kind: ToolKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Restricts the rule to the tool with this name.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// Restricts the rule to paths that match this pattern.
    #[must_use]
    pub fn path(mut self, pattern: impl Into<String>) -> Self {
        self.path = Some(pattern.into());
        self
    }

    /// Returns `true` if this rule answers the request.
    pub fn applies_to(&self, request: &PermissionRequest) -> bool {
        let paths_match = |pattern: &String| {
            let matches = |path: &std::path::PathBuf| path_matches(pattern, path);
            match self.answer {
                PermissionPolicy::Allow => {
                    !request.paths.is_empty() && request.paths.iter().all(matches)
                }
                _ => request.paths.iter().any(matches),
            }
        };
        self.kind.is_none_or(|kind| request.kind == Some(kind))
            && self.tool.as_ref().is_none_or(|tool| *tool == request.tool)
            && self.path.as_ref().is_none_or(paths_match)
    }
}

/// Returns `true` if the path matches the pattern, or is inside a directory that does.
fn path_matches(pattern: &str, path: &Path) -> bool {
    // A path outside the directory is absolute, and then the pattern must be absolute too.
    if pattern.starts_with('/') != path.is_absolute() {
        return false;
    }
    let names = |text: &str| -> Vec<String> {
        let is_name = |part: &&str| !part.is_empty() && *part != ".";
        text.split('/').filter(is_name).map(str::to_owned).collect()
    };
    let mut pattern = names(pattern);
    // What is inside a matching directory matches anyway.
    while pattern.last().is_some_and(|part| part == "**") {
        pattern.pop();
    }
    if pattern.is_empty() {
        return true;
    }
    let Some(glob) = glob(&pattern.join("/")) else {
        return false;
    };
    let path = names(&path.to_string_lossy()).join("/");
    let mut dirs = Path::new(&path).ancestors();
    dirs.any(|dir| !dir.as_os_str().is_empty() && glob.is_match(dir))
}

/// Compiles a pattern in which only `*` and `**` are special.
fn glob(pattern: &str) -> Option<GlobMatcher> {
    let escaped: String = pattern
        .chars()
        .flat_map(|c| match c {
            '?' | '[' | ']' | '{' | '}' | '\\' => vec!['\\', c],
            c => vec![c],
        })
        .collect();
    let glob = GlobBuilder::new(&escaped)
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    Some(glob.ok()?.compile_matcher())
}

/// A policy with exceptions. In the configuration it is a string, or a table with `default` and `rules`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Permissions {
    /// The answer if no rule applies.
    pub default: PermissionPolicy,
    /// The rules; the first that applies decides.
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

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Permissions, E> {
        PermissionPolicy::deserialize(StrDeserializer::new(name)).map(Permissions::from)
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

    fn request(kind: ToolKind, paths: &[&str]) -> PermissionRequest {
        let dir = Path::new("/yard");
        PermissionRequest {
            tool: "edit".to_owned(),
            kind: Some(kind),
            paths: paths
                .iter()
                .map(|path| rule_path(dir, Path::new(path)))
                .collect(),
            ..PermissionRequest::default()
        }
    }

    #[test]
    fn rule_path_resolves_dots_and_prefix() {
        let check = |path: &str, expected: &str| {
            assert_eq!(
                rule_path(Path::new("/yard"), Path::new(path)),
                PathBuf::from(expected)
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
    fn path_patterns() {
        let check = |pattern: &str, path: &str, expected| {
            let path_in_rules = rule_path(Path::new("/yard"), Path::new(path));
            assert_eq!(
                path_matches(pattern, &path_in_rules),
                expected,
                "{pattern} {path}"
            );
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
        check("", "anything", true);
        check("/", "/outside/deep", true);
        check("**", "anything/deep", true);
        check("**", ".", true);
        check("*", ".", false);
        check("src/**", "src", true);
        check("src/**", "src/deep/a.rs", true);
        check("src/**", "srcs", false);
        check("src/**/*.rs", "src/a.rs", true);
        check("src/**/*.rs", "src/deep/er/a.rs", true);
        check("src/**/*.rs", "src/a.rs/inside", true);
        check("src/**/test/**/a", "src/test/a", true);
        check("**/.git", "deep/.git/config", true);
        check("**/.git", ".git", true);
        check("*", ".hidden/x", true);
        check("a*c", "abc/deep", true);
        check("a*c", "a/c", false);
        check("a**c", "abbc", true);
        check("a**c", "a/c", false);
        check("./src//x/", "src/x", true);
        // Nothing else is special.
        check("a?c", "abc", false);
        check("a?c", "a?c", true);
        check("[ab]", "a", false);
        check("[ab]", "[ab]", true);
        check("[", "[", true);
        check("{a,b}", "a", false);
        check("{a,b}", "{a,b}", true);
        check("{a", "{a", true);
        check("a\\*", "a\\b", true);
        check("a\\", "a", false);
        check("ä*", "äö", true);
        check("SRC", "src", false);
    }

    #[test]
    fn p20_first_rule_that_applies_decides() {
        use PermissionPolicy::{Allow, Ask, Deny};
        let rules = [
            PermissionRule::new(Deny).path(".git"),
            PermissionRule::new(Allow).kind(ToolKind::Read),
            PermissionRule::new(Allow).kind(ToolKind::Write).path("src"),
            PermissionRule::new(Ask).tool("deploy"),
        ];
        let check = |request: PermissionRequest, decision| {
            assert_eq!(decide(Deny, &rules, &request), decision, "{request:?}");
        };
        check(request(ToolKind::Read, &["a"]), Decision::Allow);
        check(request(ToolKind::Read, &[".git/config"]), Decision::Deny);
        check(
            request(ToolKind::Write, &["src/a", "src/b"]),
            Decision::Allow,
        );
        check(request(ToolKind::Write, &["src/a", "b"]), Decision::Deny);
        check(
            request(ToolKind::Write, &["src/a", ".git/hooks/x"]),
            Decision::Deny,
        );
        check(request(ToolKind::Write, &["src/../.git/x"]), Decision::Deny);
        // A request without paths does not match a rule that allows certain paths.
        check(request(ToolKind::Write, &[]), Decision::Deny);
        let deploy = PermissionRequest {
            tool: "deploy".to_owned(),
            ..PermissionRequest::default()
        };
        check(deploy, Decision::AskApprover);
    }

    #[test]
    fn permissions_are_read_from_string_or_table() {
        let read = |value| serde_json::from_value::<Permissions>(value);
        assert_eq!(
            read(json!("allow")).unwrap(),
            PermissionPolicy::Allow.into()
        );
        let table = json!({ "default": "ask", "rules": [{ "kind": "read", "answer": "allow" }] });
        let read_one = read(table).unwrap();
        assert_eq!(read_one.default, PermissionPolicy::Ask);
        assert_eq!(read_one.rules[0].kind, Some(ToolKind::Read));
        let error = |value| read(value).unwrap_err().to_string();
        assert!(error(json!("maybe")).starts_with("unknown variant"));
        assert!(error(json!({ "rules": [] })).contains("default"));
        assert!(
            error(json!({ "default": "ask", "rules": [{ "paths": "x", "answer": "deny" }] }))
                .contains("unknown field")
        );
    }
}
