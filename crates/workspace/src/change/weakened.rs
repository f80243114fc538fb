//! Finds tests that a change weakens: files deleted, emptied or replaced, tests removed or skipped.
//!
//! It works with names and diff lines, so it can be deceived. Its findings are hints for a
//! reviewer, and nothing depends on them.

use std::collections::BTreeSet;

use super::FileDiff;

/// Maximum number of warnings for one change.
const MAX_WARNINGS: usize = 50;

/// The hashes of an empty file.
const EMPTY_BLOBS: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// Markers that disable a test.
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

/// Returns each weakened test, with what was done to it.
pub(crate) fn find_weakened(differences: &[FileDiff], diff: &str) -> Vec<String> {
    let mut found = whole_files(differences);
    let files = read(diff);
    let added: BTreeSet<&String> = files.iter().flat_map(|file| &file.added).collect();
    for file in &files {
        let is_reported = found
            .iter()
            .any(|line| line.starts_with(&format!("{}: ", file.path)));
        let removed: Vec<&str> = file
            .removed
            .iter()
            .filter(|name| !added.contains(name))
            .map(String::as_str)
            .collect();
        if !removed.is_empty() && !is_reported {
            found.push(format!("{}: removes {}", file.path, removed.join(", ")));
        }
        let is_changed = |diff: &FileDiff| diff.kind == 'M' && diff.path == file.path;
        let is_replaced = file.is_replaced() && differences.iter().any(is_changed);
        if is_replaced && removed.is_empty() && !is_reported {
            found.push(format!("{}: every line was replaced", file.path));
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

/// Returns test files that were emptied, or deleted and not merely moved.
fn whole_files(differences: &[FileDiff]) -> Vec<String> {
    let new_blobs: BTreeSet<&str> = differences
        .iter()
        .filter(|diff| diff.kind == 'A')
        .map(|diff| diff.new_blob.as_str())
        .collect();
    let tests = differences.iter().filter(|diff| is_test_file(&diff.path));
    let warnings = tests.filter_map(|diff| match diff.kind {
        'D' if !new_blobs.contains(diff.old_blob.as_str()) => {
            Some(format!("{}: deleted", diff.path))
        }
        'M' if EMPTY_BLOBS.contains(&diff.new_blob.as_str()) => {
            Some(format!("{}: emptied", diff.path))
        }
        _ => None,
    });
    warnings.collect()
}

/// Returns `true` if the path has a usual name of a test, a fixture or a snapshot.
pub fn is_test_file(path: &str) -> bool {
    let (dirs, file) = path.rsplit_once('/').unwrap_or(("", path));
    let in_tests = dirs.split('/').any(|dir| {
        matches!(
            dir,
            "test"
                | "tests"
                | "spec"
                | "specs"
                | "__tests__"
                | "__snapshots__"
                | "testdata"
                | "e2e"
        )
    });
    let stem = file.split('.').next().unwrap_or(file);
    let is_named = stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_spec")
        || matches!(stem, "test" | "tests" | "conftest")
        || stem.ends_with("Test")
        || stem.ends_with("Tests")
        || file.contains(".test.")
        || file.contains(".spec.")
        || file.ends_with(".snap");
    in_tests || is_named
}

/// What the diff of one file does to tests.
#[derive(Debug, Default)]
struct FileTestDiff {
    path: String,
    removed: Vec<String>,
    added: Vec<String>,
    skips: BTreeSet<&'static str>,
    script: bool,
    /// Whether non-empty lines were removed, and whether any is unchanged.
    has_removed_lines: bool,
    has_unchanged_lines: bool,
}

impl FileTestDiff {
    /// Returns `true` if no line of a test file is unchanged: a diff shows unchanged lines around
    /// removed ones.
    fn is_replaced(&self) -> bool {
        self.has_removed_lines && !self.has_unchanged_lines && is_test_file(&self.path)
    }
}

/// Parses the parts of a diff that concern tests.
fn read(diff: &str) -> Vec<FileTestDiff> {
    let mut files = vec![FileTestDiff::default()];
    // Whether an attribute makes the next function a test; for removed and for added lines.
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
            // The line itself is unchanged, but it may have lost the attribute that made it a test,
            // or got one.
            _ => match (name(0, &mut marked), name(1, &mut marked)) {
                (Some(name), None) => file.removed.push(name),
                (None, Some(name)) => file.added.push(name),
                _ => {}
            },
        }
        let is_filled = !text.is_empty();
        file.has_removed_lines |= sign == "-" && is_filled;
        file.has_unchanged_lines |= sign == " " && is_filled;
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

/// Returns `true` if the line contains the word, and not as the end of a longer one.
fn mentions_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '"' || c == '\'')
    })
}

/// Returns the name of the test that this line starts. `marked` remembers an attribute until its
/// function.
fn test_name(text: &str, marked: &mut bool) -> Option<String> {
    let is_attribute = text.starts_with("#[");
    if is_attribute && (text.contains("test]") || text.contains("test(") || text.contains("rstest"))
    {
        *marked = true;
    }
    if let Some(at) = text.find("fn ").filter(|_| !is_attribute) {
        let is_test = std::mem::take(marked);
        return is_test.then(|| identifier(&text[at + 3..]));
    }
    let text = text.strip_prefix("async ").unwrap_or(text);
    if let Some(rest) = text
        .strip_prefix("def ")
        .filter(|rest| rest.starts_with("test"))
    {
        return Some(identifier(rest));
    }
    if let Some(rest) = text
        .strip_prefix("func ")
        .filter(|rest| rest.starts_with("Test"))
    {
        return Some(identifier(rest));
    }
    let call = ["it(", "test(", "it.each", "test.each"]
        .iter()
        .find(|call| text.starts_with(**call))?;
    let quoted = text[call.len()..].split(['"', '\'', '`']).nth(1)?;
    Some(quoted.chars().take(80).collect())
}

/// Returns the identifier at the beginning of a text.
fn identifier(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .take(80)
        .collect()
}
