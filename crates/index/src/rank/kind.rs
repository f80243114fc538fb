//! What a file is for, by its path: code is what tasks change; tests, prose and data come along.

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Code and whatever else makes the program.
    Source,
    /// A test or an example, or what they use.
    Test,
    /// Words for people.
    Prose,
    /// Settings, the work of others, and what nobody writes by hand.
    Data,
}

const PROSE: &[&str] = &["md", "rst", "txt", "adoc", "mdx", "sgml", "po", "pot"];
const PROSE_NAMES: &[&str] = &[
    "readme",
    "changelog",
    "license",
    "changes",
    "authors",
    "news",
];
const PROSE_FOLDERS: &[&str] = &["doc", "docs"];
const DATA: &[&str] = &[
    "json",
    "lock",
    "svg",
    "csv",
    "snap",
    "out",
    "sum",
    "xml",
    "map",
    "golden",
    "mod",
    "yml",
    "yaml",
    "toml",
    "ini",
    "cfg",
    "properties",
    "diff",
    "patch",
];
const DATA_FOLDERS: &[&str] = &["vendor", "third_party", "thirdparty", "node_modules"];
const TEST_FOLDERS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "testdata",
    "__tests__",
    "spec",
    "specs",
    "e2e",
    "fixtures",
    "testsuite",
    "testsuites",
    "example",
    "examples",
    "benches",
    "bench",
];
const TEST_NAMES: &[&str] = &["test", "tests", "conftest"];
/// How the name of a test begins, and how it ends before its extension.
const TEST_BEGINS: &[&str] = &["test_"];
const TEST_ENDS: &[&str] = &["_test", "_tests", ".test", ".spec"];
/// How the name of a test ends where capitals part words.
const TEST_CAPITALS: &[&str] = &[
    "Test.java",
    "Tests.java",
    "TestCase.java",
    "Test.kt",
    "Tests.cs",
];

impl FileKind {
    /// How much a file of this kind counts for against code that says the same.
    pub(crate) fn weight(self) -> f32 {
        match self {
            Self::Source => 1.0,
            Self::Test | Self::Prose | Self::Data => 0.4,
        }
    }

    pub(crate) fn of(path: &str) -> Self {
        let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
        let folders = folders.to_ascii_lowercase();
        let within = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        let lower = file.to_ascii_lowercase();
        let (stem, extension) = lower.rsplit_once('.').unwrap_or((&lower, ""));
        if PROSE.contains(&extension) || PROSE_NAMES.contains(&stem) || within(PROSE_FOLDERS) {
            return Self::Prose;
        }
        let made = lower.ends_with(".d.ts") || lower.contains(".min.");
        if DATA.contains(&extension) || made || within(DATA_FOLDERS) {
            return Self::Data;
        }
        if within(TEST_FOLDERS) || folders.split('/').any(is_test_folder) || is_test(file, stem) {
            return Self::Test;
        }
        Self::Source
    }
}

fn is_test_folder(folder: &str) -> bool {
    let ends = ["-tests", "_tests", "_test"];
    let begins = ["test_", "testsuite-"];
    ends.iter().any(|end| folder.ends_with(end)) || begins.iter().any(|it| folder.starts_with(it))
}

fn is_test(file: &str, stem: &str) -> bool {
    TEST_NAMES.contains(&stem)
        || TEST_BEGINS.iter().any(|begin| stem.starts_with(begin))
        || TEST_ENDS.iter().any(|end| stem.ends_with(end))
        || TEST_CAPITALS.iter().any(|end| file.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_what_a_file_is_for() {
        let cases = [
            ("src/lib.rs", FileKind::Source),
            ("unittest.py", FileKind::Source),
            ("src/templates/page.html", FileKind::Source),
            ("packages/runner-test/src/util.ts", FileKind::Source),
            ("tests/a.rs", FileKind::Test),
            ("src/a_test.go", FileKind::Test),
            ("src/ATest.java", FileKind::Test),
            ("Docs/conf.py", FileKind::Prose),
            ("README", FileKind::Prose),
            ("types/a.d.ts", FileKind::Data),
            ("js/vendor/jquery.js", FileKind::Data),
            ("Cargo.toml", FileKind::Data),
        ];
        for (path, kind) in cases {
            assert_eq!(FileKind::of(path), kind, "{path}");
        }
    }
}
