//! Test commands of known runners, so that arguments can be added to them.
//!
//! The runner is found by the words of the command, or by the script of `package.json` that it runs. The files only
//! select one of the runners known here; they cannot add arguments.

mod recognize;
mod script;
mod select;

use std::path::Path;

use super::runner_kind::RunnerKind;

pub(crate) use select::select;

/// A test command and its runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invocation {
    pub(crate) runner: RunnerKind,
    /// The complete command.
    pub(crate) command: Vec<String>,
    /// The arguments of the runner itself.
    pub(crate) arguments: Vec<String>,
    pub(crate) passing: Passing,
}

/// How arguments reach the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    /// The runner's arguments start at this index of the command.
    Direct(usize),
    /// A script appends them to the runner's arguments, after this number of `--`.
    Script(usize),
}

impl Invocation {
    /// Recognizes the runner of a command that is run in this directory.
    pub(crate) fn new(root: &Path, command: &[String]) -> Option<Self> {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        if let Some((runner, at)) = recognize::runner(&words) {
            return Some(Self {
                runner,
                command: command.to_vec(),
                arguments: command[at..].to_vec(),
                passing: Passing::Direct(at),
            });
        }
        // A project in a directory of a monorepo.
        let dir = |word: &&str| word.strip_prefix("--chdir=").map(|dir| root.join(dir));
        let script = match (words.first(), words.get(1).and_then(dir)) {
            (Some(&"env"), Some(dir)) => script::find(&dir, &words[2..])?,
            _ => script::find(root, &words)?,
        };
        Some(Self {
            runner: script.runner,
            command: command.to_vec(),
            arguments: script.arguments,
            passing: Passing::Script(script.separators),
        })
    }

    /// Returns `true` if the runner has an argument that starts with this text.
    pub(crate) fn has(&self, start: &str) -> bool {
        self.arguments
            .iter()
            .any(|argument| argument.starts_with(start))
    }

    /// Returns the command with arguments added at the end.
    pub(crate) fn append(&self, arguments: &[String]) -> Vec<String> {
        let mut command = self.command.clone();
        if let Passing::Script(separators) = self.passing {
            command.extend(std::iter::repeat_n("--".to_owned(), separators));
        }
        command.extend_from_slice(arguments);
        command
    }

    /// Returns the command with arguments added before the others. A script only appends.
    pub(crate) fn insert(&self, arguments: &[String]) -> Vec<String> {
        let Passing::Direct(at) = self.passing else {
            return self.append(arguments);
        };
        let (before, after) = self.command.split_at(at);
        [before, arguments, after].concat()
    }
}

#[cfg(test)]
mod tests;
