//! What a file is for, by its path: code is what tasks change; tests, prose and data come along.

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Code and whatever else makes the program.
    Source,
    /// A test or an example, or what they use.
    Test,
    /// Words for people.
    Docs,
    /// Settings, the work of others, and what nobody writes by hand.
    Data,
}

const DOC_EXTENSIONS: &[&str] = &["md", "rst", "txt", "adoc", "mdx", "sgml", "po", "pot"];
const DOC_NAMES: &[&str] = &[
    "readme",
    "changelog",
    "license",
    "changes",
    "authors",
    "news",
];
const DOC_DIRS: &[&str] = &["doc", "docs"];
const DATA_EXTENSIONS: &[&str] = &[
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
const DATA_DIRS: &[&str] = &["vendor", "third_party", "thirdparty", "node_modules"];
const TEST_DIRS: &[&str] = &[
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
const TEST_PREFIXES: &[&str] = &["test_"];
const TEST_SUFFIXES: &[&str] = &["_test", "_tests", ".test", ".spec"];
/// How the name of a test ends where capitals part words.
const TEST_CAMEL_SUFFIXES: &[&str] = &[
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
            Self::Test | Self::Docs | Self::Data => 0.4,
        }
    }

    pub(crate) fn from_path(path: &str) -> Self {
        let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
        let folders = folders.to_ascii_lowercase();
        let within = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        let lower = file.to_ascii_lowercase();
        let (stem, extension) = lower.rsplit_once('.').unwrap_or((&lower, ""));
        if DOC_EXTENSIONS.contains(&extension) || DOC_NAMES.contains(&stem) || within(DOC_DIRS) {
            return Self::Docs;
        }
        let made = lower.ends_with(".d.ts") || lower.contains(".min.");
        if DATA_EXTENSIONS.contains(&extension) || made || within(DATA_DIRS) {
            return Self::Data;
        }
        if within(TEST_DIRS) || folders.split('/').any(is_test_folder) || is_test(file, stem) {
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
        || TEST_PREFIXES.iter().any(|begin| stem.starts_with(begin))
        || TEST_SUFFIXES.iter().any(|end| stem.ends_with(end))
        || TEST_CAMEL_SUFFIXES.iter().any(|end| file.ends_with(end))
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
            ("Docs/conf.py", FileKind::Docs),
            ("README", FileKind::Docs),
            ("types/a.d.ts", FileKind::Data),
            ("js/vendor/jquery.js", FileKind::Data),
            ("Cargo.toml", FileKind::Data),
        ];
        for (path, kind) in cases {
            assert_eq!(FileKind::from_path(path), kind, "{path}");
        }
    }
}
