//! Finds tests that a change takes away: a file deleted, emptied or replaced, a test removed or skipped.
//!
//! It judges by names and by the lines of a diff, so it can be deceived; what it finds is for a
//! reviewer to look at, and nothing depends on it.

use std::collections::BTreeSet;

use super::FileDiff;

/// The most that is told about one change.
const MAX_WARNINGS: usize = 50;

/// The hashes of an empty file.
const EMPTY_BLOBS: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// What is said before a test that it is not to be run.
const SKIP_MARKERS: &[&str] = &[
    concat!("#[", "ignore"),
    "pytest.mark.skip",
    "pytest.mark.xfail",
    "pytest.skip(",
    "unittest.skip",
    "unittest.expectedFailure",
    "self.skipTest(",
    "it.skip(",
    "test.skip(",
    "describe.skip(",
    "it.todo(",
    "test.todo(",
    "it.only(",
    "test.only(",
    "describe.only(",
    "xit(",
    "xtest(",
    "xdescribe(",
    "t.Skip(",
    "t.SkipNow(",
    "@Disabled",
];

/// Each weakened test, with what was done to it.
pub(crate) fn find_weakened(differences: &[FileDiff], diff: &str) -> Vec<String> {
    let mut found = whole_files(differences);
    let files = read(diff);
    let kept: BTreeSet<&String> = files.iter().flat_map(|file| &file.added).collect();
    for file in &files {
        let is_gone = found
            .iter()
            .any(|line| line.starts_with(&format!("{}: ", file.path)));
        let lost: Vec<&str> = file
            .removed
            .iter()
            .filter(|name| !kept.contains(name))
            .map(String::as_str)
            .collect();
        if !lost.is_empty() && !is_gone {
            found.push(format!("{}: removes {}", file.path, lost.join(", ")));
        }
        let is_changed = |one: &FileDiff| one.kind == 'M' && one.path == file.path;
        let is_replaced = file.is_replaced() && differences.iter().any(is_changed);
        if is_replaced && lost.is_empty() && !is_gone {
            found.push(format!("{}: no line of it was kept", file.path));
        }
        for skip in &file.skips {
            found.push(format!("{}: adds `{skip}`", file.path));
        }
        if file.script {
            found.push(format!("{}: changes the test script", file.path));
        }
    }
    found.truncate(MAX_WARNINGS);
    found
}

/// Test files that are deleted, and have not merely moved, or emptied.
fn whole_files(differences: &[FileDiff]) -> Vec<String> {
    let arrived: BTreeSet<&str> = differences
        .iter()
        .filter(|one| one.kind == 'A')
        .map(|one| one.new_blob.as_str())
        .collect();
    let tests = differences.iter().filter(|one| is_test_file(&one.path));
    let told = tests.filter_map(|one| match one.kind {
        'D' if !arrived.contains(one.old_blob.as_str()) => Some(format!("{}: deleted", one.path)),
        'M' if EMPTY_BLOBS.contains(&one.new_blob.as_str()) => {
            Some(format!("{}: emptied", one.path))
        }
        _ => None,
    });
    told.collect()
}

/// Whether a file is called as test files are.
pub(crate) fn is_test_file(path: &str) -> bool {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let in_tests = folders
        .split('/')
        .any(|folder| matches!(folder, "test" | "tests" | "spec" | "__tests__" | "testdata"));
    let stem = file.split('.').next().unwrap_or(file);
    let named = stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || matches!(stem, "test" | "tests" | "conftest")
        || stem.ends_with("Test")
        || file.contains(".test.")
        || file.contains(".spec.");
    in_tests || named
}

/// What the diff of one file says about tests.
#[derive(Debug, Default)]
struct FileTestDiff {
    path: String,
    removed: Vec<String>,
    added: Vec<String>,
    skips: BTreeSet<&'static str>,
    script: bool,
    /// Whether lines that say something were taken away, and whether any was left as it is.
    takes: bool,
    keeps: bool,
}

impl FileTestDiff {
    /// Whether a file of tests has nothing left of what it said: a diff shows lines that stay around those that go.
    fn is_replaced(&self) -> bool {
        self.takes && !self.keeps && is_test_file(&self.path)
    }
}

/// Reads a diff as far as tests are concerned.
fn read(diff: &str) -> Vec<FileTestDiff> {
    let mut files = vec![FileTestDiff::default()];
    // An attribute that makes the function after it a test; for removed and for added lines.
    let mut marked = [false; 2];
    let mut in_hunk = false;
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git a/") {
            let path = names.split(" b/").next().unwrap_or(names).to_owned();
            files.push(FileTestDiff {
                path,
                ..FileTestDiff::default()
            });
            in_hunk = false;
        }
        in_hunk |= line.starts_with("@@");
        let Some(file) = files.last_mut().filter(|_| in_hunk) else {
            continue;
        };
        let Some((sign, text)) = line.split_at_checked(1) else {
            continue;
        };
        let text = text.trim();
        let name = |side: usize, marked: &mut [bool; 2]| test_name(text, &mut marked[side]);
        match sign {
            "-" => file.removed.extend(name(0, &mut marked)),
            "+" => file.added.extend(name(1, &mut marked)),
            // The line itself stays, but it may have lost the mark that made it a test, or got one.
            _ => match (name(0, &mut marked), name(1, &mut marked)) {
                (Some(lost), None) => file.removed.push(lost),
                (None, Some(new)) => file.added.push(new),
                _ => {}
            },
        }
        let speaks = !text.is_empty();
        file.takes |= sign == "-" && speaks;
        file.keeps |= sign == " " && speaks;
        match sign {
            "+" => file.skips.extend(
                SKIP_MARKERS
                    .iter()
                    .copied()
                    .filter(|skip| mentions_word(text, skip)),
            ),
            "-" => {
                file.script |= file.path.ends_with("package.json") && text.starts_with("\"test\":")
            }
            _ => {}
        }
    }
    files
}

/// Whether a line says the word, and not as the end of a longer one.
fn mentions_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '"' || c == '\'')
    })
}

/// The name of the test that this line begins. `marked` remembers an attribute until its function.
fn test_name(text: &str, marked: &mut bool) -> Option<String> {
    let is_attribute = text.starts_with("#[");
    if is_attribute && (text.contains("test]") || text.contains("test(") || text.contains("rstest"))
    {
        *marked = true;
    }
    if let Some(at) = text.find("fn ").filter(|_| !is_attribute) {
        let is_test = std::mem::take(marked);
        return is_test.then(|| word(&text[at + 3..]));
    }
    let text = text.strip_prefix("async ").unwrap_or(text);
    if let Some(rest) = text
        .strip_prefix("def ")
        .filter(|rest| rest.starts_with("test"))
    {
        return Some(word(rest));
    }
    if let Some(rest) = text
        .strip_prefix("func ")
        .filter(|rest| rest.starts_with("Test"))
    {
        return Some(word(rest));
    }
    let call = ["it(", "test(", "it.each", "test.each"]
        .iter()
        .find(|call| text.starts_with(**call))?;
    let quoted = text[call.len()..].split(['"', '\'', '`']).nth(1)?;
    Some(quoted.chars().take(80).collect())
}

/// The name at the beginning of a text.
fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .take(80)
        .collect()
}
