//! The file of an evaluation: agents, tasks and how often each task is done.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use windlass_tasks::WorkerKind;

use crate::cli::exit::CliError;

/// The tasks that come with the program.
const BUILT_IN: &str = include_str!("suite.toml");
/// Maximum size of a file.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum number of tasks in a file.
const MAX_TASKS: usize = 1_000;

/// An evaluation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) agents: Vec<AgentChoice>,
    /// How often each agent does each task.
    #[serde(default = "default_repeats")]
    pub(super) repeats: u32,
    #[serde(default)]
    pub(super) tasks: Vec<EvalTask>,
}

fn default_repeats() -> u32 {
    3
}

/// An agent of the configuration, with a model if it is not the configured one. In files and arguments: NAME or
/// NAME:MODEL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AgentChoice {
    pub(super) name: String,
    pub(super) model: Option<String>,
}

impl FromStr for AgentChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, model) = match text.split_once(':') {
            Some((name, model)) => (name, Some(model)),
            None => (text, None),
        };
        if name.is_empty() || model == Some("") {
            return Err("write NAME or NAME:MODEL".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            model: model.map(str::to_owned),
        })
    }
}

impl std::fmt::Display for AgentChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.model {
            Some(model) => write!(f, "{}:{model}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Serialize for AgentChoice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AgentChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// One task. Its repository has the files that are listed, or those of a commit of this repository.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvalTask {
    pub(super) name: String,
    pub(super) title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) description: String,
    #[serde(default)]
    pub(super) kind: WorkerKind,
    /// The test command; without it, that of the configuration, or else the one that is detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tests: Option<Vec<String>>,
    /// The commit whose files the agent gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<String>,
    /// The commit that the files in `test_files` are taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tests_from: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) test_files: Vec<String>,
    /// The contents of the files by path, instead of `base`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) files: BTreeMap<String, String>,
}

impl EvalTask {
    /// Returns a text that changes with every part of the task.
    pub(super) fn fingerprint(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        let hash = Sha256::digest(text.as_bytes());
        hash.iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Returns the problem of a task that cannot be done.
    fn problem(&self) -> Option<&'static str> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_commit = |text: &String| {
            (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        if self.name.is_empty() || self.name.len() > 60 || !self.name.chars().all(is_name) {
            return Some("a name has up to 60 letters, digits, dots, - and _");
        }
        if self.name.starts_with(['.', '-']) {
            return Some("a name starts with a letter or digit");
        }
        if self.title.trim().is_empty() {
            return Some("it has no title");
        }
        if self.files.is_empty() == self.base.is_none() {
            return Some("it needs either files or base");
        }
        if self.tests_from.is_some() == self.test_files.is_empty() {
            return Some("tests_from and test_files belong together");
        }
        if self.tests_from.is_some() && self.base.is_none() {
            return Some("tests_from needs base");
        }
        if ![&self.base, &self.tests_from]
            .iter()
            .all(|commit| commit.as_ref().is_none_or(is_commit))
        {
            return Some("base and tests_from are commit ids");
        }
        let paths = self.files.keys().chain(&self.test_files);
        if !paths.into_iter().all(|path| is_inside(path)) {
            return Some("a path is not inside the repository");
        }
        None
    }
}

/// Returns `true` for a relative path that stays in its directory and is no part of git's own.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    parts.peek().is_some() && !path.contains(['\0', '\n']) && parts.all(is_plain)
}

impl Suite {
    /// Reads a file, or else the tasks that come with the program.
    pub(super) fn read(file: Option<&Path>) -> Result<Self, CliError> {
        let Some(file) = file else {
            return Self::parse(BUILT_IN, "the built-in tasks");
        };
        let failed =
            |error: std::io::Error| CliError::usage(format!("{}: {error}", file.display()));
        let mut text = String::new();
        let mut input = File::open(file).map_err(failed)?.take(MAX_BYTES + 1);
        input.read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(CliError::usage(format!(
                "{}: the file has more than {MAX_BYTES} bytes",
                file.display()
            )));
        }
        Self::parse(&text, &file.display().to_string())
    }

    fn parse(text: &str, source: &str) -> Result<Self, CliError> {
        let suite: Self = toml::from_str(text)
            .map_err(|error| CliError::usage(format!("{source}: {}", error.to_string().trim())))?;
        let fail = |problem: String| CliError::usage(format!("{source}: {problem}"));
        if suite.tasks.is_empty() || suite.tasks.len() > MAX_TASKS {
            return Err(fail(format!("a file has 1 to {MAX_TASKS} tasks")));
        }
        let mut names = BTreeSet::new();
        for task in &suite.tasks {
            if let Some(problem) = task.problem() {
                return Err(fail(format!("task {:?}: {problem}", task.name)));
            }
            if !names.insert(&task.name) {
                return Err(fail(format!("two tasks are named {:?}", task.name)));
            }
        }
        Ok(suite)
    }

    /// Checks what arguments may have replaced.
    pub(super) fn check(&self) -> Result<(), CliError> {
        if self.agents.is_empty() {
            return Err(CliError::usage(
                "no agent to evaluate: pass --agent NAME, or list agents in the file",
            ));
        }
        let unique: BTreeSet<_> = self.agents.iter().collect();
        if unique.len() < self.agents.len() {
            return Err(CliError::usage("an agent is listed twice"));
        }
        if !(1..=100).contains(&self.repeats) {
            return Err(CliError::usage("repeats must be from 1 to 100"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, Suite, is_inside};

    #[test]
    fn built_in_tasks_are_valid() {
        assert_eq!(Suite::parse(BUILT_IN, "built-in").unwrap().tasks.len(), 5);
    }

    #[test]
    fn a_path_stays_in_its_repository() {
        for path in ["a.py", "src/a.py", ".github/a.yml"] {
            assert!(is_inside(path), "{path}");
        }
        for path in [
            "",
            "/etc/passwd",
            "../a",
            "a/../../b",
            ".git/config",
            "a/.GIT/hooks/x",
            ".",
        ] {
            assert!(!is_inside(path), "{path}");
        }
    }

    #[test]
    fn a_file_with_a_mistake_is_refused_with_the_reason() {
        let task = "[[tasks]]\nname = \"a\"\ntitle = \"A\"\n";
        let cases = [
            ("", "1 to 1000 tasks"),
            (task, "either files or base"),
            (&format!("{task}base = \"main\"\n"), "commit ids"),
            (
                &format!("{task}base = \"1234567\"\ntests_from = \"1234567\"\n"),
                "belong together",
            ),
            (
                &format!("{task}[tasks.files]\n\"../x\" = \"\"\n"),
                "not inside",
            ),
            (
                &format!("{task}files = {{ a = \"\" }}\n{task}files = {{ a = \"\" }}\n"),
                "two tasks",
            ),
            (&format!("{task}colour = 1\n"), "colour"),
        ];
        for (text, expected) in cases {
            let error = Suite::parse(text, "eval.toml").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
