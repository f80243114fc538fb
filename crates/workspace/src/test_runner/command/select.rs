//! Commands that run only some of the cases.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Invocation, Passing};
use crate::test_runner::runner_kind::RunnerKind;

/// Maximum number of cases, and maximum length of their names.
const MAX_CASES: usize = 200;
const MAX_BYTES: usize = 32 << 10;

/// Returns the command that runs these cases, and perhaps others. Returns `None` if the runner is not known or cannot
/// select them.
pub(crate) fn select(root: &Path, command: &[String], cases: &[String]) -> Option<Vec<String>> {
    let bytes: usize = cases.iter().map(String::len).sum();
    if cases.is_empty() || cases.len() > MAX_CASES || bytes > MAX_BYTES {
        return None;
    }
    let invocation = Invocation::new(root, command)?;
    match invocation.runner {
        RunnerKind::Pytest => pytest(root, &invocation, cases),
        RunnerKind::Unittest => unittest(&invocation, cases),
        RunnerKind::Cargo => cargo(&invocation, cases),
        RunnerKind::Nextest => nextest(&invocation, cases),
        RunnerKind::Jest | RunnerKind::Vitest => {
            let titles: Option<Vec<&str>> = cases
                .iter()
                .map(|case| Some(case.split_once(" > ")?.1))
                .collect();
            Some(invocation.append(&[format!("--testNamePattern={}", pattern(&titles?))]))
        }
        RunnerKind::Mocha => {
            let titles: Vec<&str> = cases.iter().map(|case| unnumbered(case)).collect();
            Some(invocation.append(&["--grep".to_owned(), pattern(&titles)]))
        }
        RunnerKind::Node => node(&invocation, cases),
        RunnerKind::Go => go(&invocation, cases),
        RunnerKind::Maven => maven(&invocation, cases),
        RunnerKind::Gradle => gradle(&invocation, cases),
        RunnerKind::Tap | RunnerKind::Unknown => None,
    }
}

/// Adds the node ids. They are relative to pytest's root directory, which is not always this one.
fn pytest(root: &Path, invocation: &Invocation, cases: &[String]) -> Option<Vec<String>> {
    let exists = |id: &String| {
        let file = id.split("::").next().unwrap_or(id);
        !file.starts_with('-') && root.join(file).is_file()
    };
    cases.iter().all(exists).then(|| invocation.append(cases))
}

/// Adds a pattern for each dotted name in `test_a (u.T.test_a)`.
fn unittest(invocation: &Invocation, cases: &[String]) -> Option<Vec<String>> {
    let mut arguments = Vec::new();
    for case in cases {
        let name = case.split_once(" (")?.1.split(')').next()?;
        arguments.extend(["-k".to_owned(), name.to_owned()]);
    }
    Some(invocation.append(&arguments))
}

/// Adds filters for the names after the program: `lab tests::adds`.
fn cargo(invocation: &Invocation, cases: &[String]) -> Option<Vec<String>> {
    let names: Option<BTreeSet<&str>> = cases
        .iter()
        .map(|case| Some(case.split_once(' ')?.1))
        .collect();
    let mut arguments: Vec<String> = Vec::new();
    if !invocation.arguments.iter().any(|argument| argument == "--") {
        arguments.push("--".to_owned());
    }
    // The line number of a documentation test is not in its name.
    if !cases.iter().any(|case| case.starts_with("doc/")) {
        arguments.push("--exact".to_owned());
    }
    arguments.extend(names?.into_iter().map(str::to_owned));
    Some(invocation.append(&arguments))
}

/// Adds a filter expression for the names after the program: `lab::it works`.
fn nextest(invocation: &Invocation, cases: &[String]) -> Option<Vec<String>> {
    let is_plain = |name: &&str| {
        name.chars()
            .all(|c| c.is_alphanumeric() || "_:".contains(c))
    };
    let names = cases
        .iter()
        .map(|case| case.split_once(' ').map(|(_, name)| name).filter(is_plain));
    let names: Option<Vec<&str>> = names.collect();
    let terms: Vec<String> = names?.iter().map(|name| format!("test(={name})")).collect();
    Some(invocation.insert(&["-E".to_owned(), terms.join(" | ")]))
}

/// Adds a pattern for the titles. Options for node must precede the names of files.
fn node(invocation: &Invocation, cases: &[String]) -> Option<Vec<String>> {
    let only_options = invocation
        .arguments
        .iter()
        .all(|argument| argument.starts_with('-'));
    if matches!(invocation.passing, Passing::Script(_)) && !only_options {
        return None;
    }
    let last = |case: &String| {
        case.rsplit(" > ")
            .next()
            .map(|title| regex(unnumbered(title)))
    };
    let titles: Option<Vec<String>> = cases.iter().map(last).collect();
    Some(invocation.insert(&[format!("--test-name-pattern={}", titles?.join("|"))]))
}

/// Adds a pattern for the top-level tests: `lab/ok TestOk/sub`.
fn go(invocation: &Invocation, cases: &[String]) -> Option<Vec<String>> {
    let name = |case: &String| {
        let name = case.split_once(' ')?.1.split('/').next()?;
        Some(regex(name))
    };
    let names: Option<BTreeSet<String>> = cases.iter().map(name).collect();
    let names: Vec<String> = names?.into_iter().collect();
    let pattern = format!("-run=^({})$", names.join("|"));
    let own = invocation
        .command
        .iter()
        .position(|word| word == "-args" || word == "--args");
    let (before, after) = invocation
        .command
        .split_at(own.unwrap_or(invocation.command.len()));
    // A result from the cache would not be a new run.
    Some([before, &["-count=1".to_owned(), pattern], after].concat())
}

/// Adds the methods: `com.example.AddTest#sums`.
fn maven(invocation: &Invocation, cases: &[String]) -> Option<Vec<String>> {
    let methods: Option<BTreeSet<String>> = cases
        .iter()
        .map(|case| Some(method(case)?.join("#")))
        .collect();
    let methods: Vec<String> = methods?.into_iter().collect();
    Some(invocation.append(&[
        format!("-Dtest={}", methods.join(",")),
        "-Dsurefire.failIfNoSpecifiedTests=false".to_owned(),
    ]))
}

/// Adds the methods after the task `test`, the only one that can select.
fn gradle(invocation: &Invocation, cases: &[String]) -> Option<Vec<String>> {
    let is_task = |word: &String| word == "test" || word.ends_with(":test");
    let task = invocation.command.iter().position(is_task)?;
    let (before, after) = invocation.command.split_at(task + 1);
    let mut arguments = Vec::new();
    for case in cases {
        arguments.extend(["--tests".to_owned(), method(case)?.join(".")]);
    }
    Some([before, &arguments, after].concat())
}

/// Returns the class and the method of a case, without the parameters of one run.
fn method(case: &str) -> Option<[&str; 2]> {
    let (class, method) = case.split_once('#')?;
    let is_name = |c: char| c.is_alphanumeric() || "_$.".contains(c);
    let method = method.split(['(', '[', '{']).next()?;
    (!method.is_empty() && class.chars().chain(method.chars()).all(is_name))
        .then_some([class, method])
}

/// Returns a pattern for titles. The runners join the titles of suites and tests with a space.
fn pattern(titles: &[&str]) -> String {
    let titles: BTreeSet<String> = titles
        .iter()
        .map(|title| regex(title).replace(" > ", "( > | )"))
        .collect();
    let titles: Vec<String> = titles.into_iter().collect();
    format!("^({})$", titles.join("|"))
}

/// Removes the number that distinguishes cases of one name.
fn unnumbered(name: &str) -> &str {
    match name.rsplit_once(" #") {
        Some((before, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => before,
        _ => name,
    }
}

/// Returns a pattern that matches this text.
fn regex(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if r"\^$.|?*+()[]{}/".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
