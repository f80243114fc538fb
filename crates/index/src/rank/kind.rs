//! The kind of a file, by its path. Tasks mostly change code; tests, documentation and data weigh less.

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Code, and everything else that is part of the program.
    Source,
    /// A test, an example, or a file they use.
    Test,
    /// Documentation.
    Docs,
    /// Settings, vendored files and generated files.
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
/// Prefixes of test file names, and suffixes before the extension.
const TEST_PREFIXES: &[&str] = &["test_"];
const TEST_SUFFIXES: &[&str] = &["_test", "_tests", ".test", ".spec"];
/// Suffixes of test file names in camel case.
const TEST_CAMEL_SUFFIXES: &[&str] = &[
    "Test.java",
    "Tests.java",
    "TestCase.java",
    "Test.kt",
    "Tests.cs",
];

impl FileKind {
    /// Returns the weight of a file of this kind, relative to code with the same text.
    pub(crate) fn weight(self) -> f32 {
        match self {
            Self::Source => 1.0,
            Self::Test | Self::Docs | Self::Data => 0.4,
        }
    }

    pub(crate) fn from_path(path: &str) -> Self {
        let (dirs, file) = path.rsplit_once('/').unwrap_or(("", path));
        let dirs = dirs.to_ascii_lowercase();
        let within = |names: &[&str]| dirs.split('/').any(|dir| names.contains(&dir));
        let lower = file.to_ascii_lowercase();
        let (stem, extension) = lower.rsplit_once('.').unwrap_or((&lower, ""));
        if DOC_EXTENSIONS.contains(&extension) || DOC_NAMES.contains(&stem) || within(DOC_DIRS) {
            return Self::Docs;
        }
        let generated = lower.ends_with(".d.ts") || lower.contains(".min.");
        if DATA_EXTENSIONS.contains(&extension) || generated || within(DATA_DIRS) {
            return Self::Data;
        }
        if within(TEST_DIRS) || dirs.split('/').any(is_test_dir) || is_test(file, stem) {
            return Self::Test;
        }
        Self::Source
    }
}

fn is_test_dir(dir: &str) -> bool {
    let suffixes = ["-tests", "_tests", "_test"];
    let prefixes = ["test_", "testsuite-"];
    suffixes.iter().any(|suffix| dir.ends_with(suffix))
        || prefixes.iter().any(|prefix| dir.starts_with(prefix))
}

fn is_test(file: &str, stem: &str) -> bool {
    TEST_NAMES.contains(&stem)
        || TEST_PREFIXES.iter().any(|prefix| stem.starts_with(prefix))
        || TEST_SUFFIXES.iter().any(|suffix| stem.ends_with(suffix))
        || TEST_CAMEL_SUFFIXES
            .iter()
            .any(|suffix| file.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_determines_file_kind() {
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
