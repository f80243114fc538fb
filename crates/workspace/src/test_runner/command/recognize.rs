//! Recognizes a test runner by the words of a command.

use crate::test_runner::runner_kind::RunnerKind;

/// Programs that run the command that follows their flags.
const WRAPPERS: &[&str] = &[
    "env",
    "cross-env",
    "npx",
    "bunx",
    "pnpx",
    "c8",
    "nyc",
    "nice",
    "time",
    "xvfb-run",
];
/// Programs that run a command after a word.
const TWO_WORD_WRAPPERS: &[(&str, &str)] = &[
    ("uv", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("pipenv", "run"),
    ("rye", "run"),
    ("npm", "exec"),
    ("pnpm", "exec"),
    ("yarn", "exec"),
    ("bundle", "exec"),
];

/// Returns the runner and the index of its first argument.
pub(crate) fn runner(words: &[&str]) -> Option<(RunnerKind, usize)> {
    let at = program(words)?;
    let name = file_name(words[at]);
    let next = words.get(at + 1).copied().unwrap_or_default();
    let after = |word: &str| {
        words[at..]
            .iter()
            .position(|other| *other == word)
            .map(|index| at + index + 1)
    };
    match name {
        "pytest" | "py.test" => Some((RunnerKind::Pytest, at + 1)),
        "jest" | "jest.js" => Some((RunnerKind::Jest, at + 1)),
        "vitest" | "vitest.mjs" => vitest(words, at),
        "mocha" | "_mocha" | "mocha.js" => Some((RunnerKind::Mocha, at + 1)),
        "go" if next == "test" => Some((RunnerKind::Go, at + 2)),
        "mvn" | "mvnw" => Some((RunnerKind::Maven, at + 1)),
        "gradle" | "gradlew" => Some((RunnerKind::Gradle, at + 1)),
        "cargo" => cargo(words, at),
        "node" => node(words, at),
        _ if name.starts_with("python") => {
            let module = after("-m")?;
            match words.get(module).copied() {
                Some("pytest") => Some((RunnerKind::Pytest, module + 1)),
                Some("unittest") => Some((RunnerKind::Unittest, module + 1)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the index of the program that the command finally runs.
fn program(words: &[&str]) -> Option<usize> {
    let mut at = 0;
    loop {
        let name = file_name(words.get(at)?);
        let next = words.get(at + 1).copied().unwrap_or_default();
        if WRAPPERS.contains(&name) {
            at += 1;
        } else if TWO_WORD_WRAPPERS.contains(&(name, next)) {
            at += 2;
        } else if is_assignment(name) {
            at += 1;
            continue;
        } else {
            return Some(at);
        }
        // Flags of the wrapper.
        while words.get(at).is_some_and(|word| word.starts_with('-')) {
            at += 1;
        }
    }
}

fn vitest(words: &[&str], at: usize) -> Option<(RunnerKind, usize)> {
    match words.get(at + 1).copied() {
        Some("bench" | "list" | "init" | "dev" | "watch") => None,
        Some("run" | "related") => Some((RunnerKind::Vitest, at + 2)),
        _ => Some((RunnerKind::Vitest, at + 1)),
    }
}

fn cargo(words: &[&str], at: usize) -> Option<(RunnerKind, usize)> {
    let mut rest = words.iter().enumerate().skip(at + 1);
    let (index, word) = rest.find(|(_, word)| !word.starts_with(['+', '-']))?;
    let next = words.get(index + 1).copied();
    match (*word, next) {
        ("test" | "t", _) => Some((RunnerKind::Cargo, index + 1)),
        ("nextest", Some("run" | "r")) => Some((RunnerKind::Nextest, index + 2)),
        _ => None,
    }
}

/// Recognizes `node --test`, and a runner that is started by its file.
fn node(words: &[&str], at: usize) -> Option<(RunnerKind, usize)> {
    let rest = &words[at + 1..];
    let file = rest.iter().position(|word| !word.starts_with('-'));
    if rest[..file.unwrap_or(rest.len())].contains(&"--test") {
        return Some((RunnerKind::Node, at + 1));
    }
    let file = at + 1 + file?;
    match file_name(words[file]) {
        "jest" | "jest.js" => Some((RunnerKind::Jest, file + 1)),
        "vitest.mjs" => vitest(words, file),
        "mocha" | "mocha.js" | "_mocha" => Some((RunnerKind::Mocha, file + 1)),
        _ => None,
    }
}

/// Returns `true` for `NAME=value`.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}
