//! Finds the runner behind `npm test` and similar commands.

use std::path::Path;

use super::recognize;
use crate::git::small_file;
use crate::test_runner::runner_kind::RunnerKind;

/// How many scripts may call each other.
const MAX_DEPTH: usize = 3;

/// The runner that a script of `package.json` ends with.
pub(super) struct PackageScript {
    pub(super) runner: RunnerKind,
    pub(super) arguments: Vec<String>,
    /// How many `--` must precede an argument that is added to the command.
    pub(super) separators: usize,
}

/// Finds the runner of a command that runs a script of `package.json` in this directory.
pub(super) fn find(root: &Path, command: &[&str]) -> Option<PackageScript> {
    let package = small_file(&root.join("package.json"))?;
    let package: serde_json::Value = serde_json::from_str(&package).ok()?;
    let call = ScriptCall::parse(command)?;
    let (mut name, mut separators) = (call.name.to_owned(), call.separators());
    let added = call.arguments;
    for _ in 0..MAX_DEPTH {
        let words = last_command(package["scripts"][name.as_str()].as_str()?)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Some((runner, at)) = recognize::runner(&words) {
            let given = added.iter().filter(|word| **word == SEPARATOR).count();
            let arguments = words[at..].iter().chain(added);
            return Some(PackageScript {
                runner,
                arguments: arguments.map(|word| (*word).to_owned()).collect(),
                separators: separators.saturating_sub(given),
            });
        }
        let call = ScriptCall::parse(&words)?;
        if !call.arguments.contains(&SEPARATOR) {
            separators += call.separators();
        }
        name = call.name.to_owned();
    }
    None
}

/// What separates the arguments of npm from those of a script.
const SEPARATOR: &str = "--";

/// A command that runs a script.
struct ScriptCall<'a> {
    is_npm: bool,
    name: &'a str,
    /// What follows the name.
    arguments: &'a [&'a str],
}

impl<'a> ScriptCall<'a> {
    fn parse(words: &'a [&'a str]) -> Option<Self> {
        let (program, name, arguments) = match words {
            ["npm", "test" | "t" | "tst", rest @ ..] => ("npm", "test", rest),
            ["npm", "run" | "run-script", name, rest @ ..] => ("npm", *name, rest),
            ["pnpm" | "yarn", "test", rest @ ..] | ["pnpm", "t", rest @ ..] => ("", "test", rest),
            ["pnpm" | "yarn" | "bun", "run", name, rest @ ..] => ("", *name, rest),
            _ => return None,
        };
        Some(Self {
            is_npm: program == "npm",
            name,
            arguments,
        })
    }

    /// Returns how many `--` must precede an argument of the script.
    fn separators(&self) -> usize {
        usize::from(self.is_npm)
    }
}

/// Returns the words of the last command of a script, if arguments appended to the script reach it.
fn last_command(script: &str) -> Option<Vec<String>> {
    let last = script.rsplit(['&', '|', ';']).next()?;
    // A substitution, a redirection, a group or a comment.
    if last.contains(['$', '`', '>', '<', '(', ')', '#', '\\', '\n']) {
        return None;
    }
    words(last)
}

/// Splits a command into words; quotes group words.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}
