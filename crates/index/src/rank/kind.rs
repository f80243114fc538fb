//! What a file is for, by its path: code is what tasks change; tests, prose and data come along.

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Code and whatever else makes the program.
    Source,
    /// A test, or what tests use.
    Test,
    /// Words for people.
    Prose,
    /// Settings, and what nobody writes by hand.
    Data,
}

const PROSE: &[&str] = &[
    "md", "rst", "txt", "adoc", "mdx", "html", "sgml", "po", "pot",
];
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
    "yml",
    "yaml",
    "toml",
    "ini",
    "cfg",
    "properties",
    "mod",
];
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
];

impl FileKind {
    /// How much a file of this kind counts for against code that says the same.
    pub(crate) fn weight(self) -> f32 {
        match self {
            Self::Source => 1.0,
            Self::Test | Self::Prose => 0.4,
            Self::Data => 0.3,
        }
    }

    pub(crate) fn of(path: &str) -> Self {
        let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
        let lower = file.to_ascii_lowercase();
        let (stem, extension) = lower.rsplit_once('.').unwrap_or((&lower, ""));
        if PROSE.contains(&extension) || is_notice(stem) {
            return Self::Prose;
        }
        if DATA.contains(&extension) || lower.contains(".min.") {
            return Self::Data;
        }
        if folders.split('/').any(is_test_folder) || is_test_name(file, stem) {
            return Self::Test;
        }
        Self::Source
    }
}

fn is_notice(stem: &str) -> bool {
    [
        "readme",
        "changelog",
        "license",
        "changes",
        "authors",
        "news",
    ]
    .contains(&stem)
}

fn is_test_folder(folder: &str) -> bool {
    let lower = folder.to_ascii_lowercase();
    TEST_FOLDERS.contains(&lower.as_str())
        || lower.ends_with("-tests")
        || lower.ends_with("_tests")
        || lower.ends_with("-test")
        || lower.ends_with("_test")
        || lower.starts_with("test_")
}

fn is_test_name(file: &str, stem: &str) -> bool {
    stem == "test"
        || stem == "tests"
        || stem == "conftest"
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with(".test")
        || stem.ends_with(".spec")
        || [
            "Test.java",
            "Tests.java",
            "TestCase.java",
            "Test.kt",
            "Tests.cs",
        ]
        .iter()
        .any(|end| file.ends_with(end))
}
