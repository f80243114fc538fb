//! Which files decide how a project is tested, by name.

use crate::change::is_test_file;

/// What a file has to do with tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileRole {
    /// Tests, their fixtures and snapshots.
    Test,
    /// Configuration of a test runner, or a script that starts it.
    Runner,
    /// A file that describes the project, with a part that configures the tests.
    Manifest,
    /// A build file with targets of which one runs the tests.
    Targets,
    /// Anything else.
    Other,
}

/// Files that only configure test runners and what starts them.
const RUNNER_FILES: &[&str] = &[
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "noxfile.py",
    ".coveragerc",
    ".taprc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "bunfig.toml",
    "nextest.toml",
    "phpunit.xml",
    ".rspec",
    "sitecustomize.py",
    "usercustomize.py",
    "runtests.py",
    "testng.xml",
];

/// Stems of runner configuration in several languages: `jest.config.ts`.
const RUNNER_STEMS: &[&str] = &[
    "jest.config",
    "jest.setup",
    "vitest.config",
    "vitest.setup",
    "vitest.workspace",
    "vite.config",
    ".mocharc",
    "ava.config",
    "karma.conf",
    "playwright.config",
    "cypress.config",
    "babel.config",
];

/// Python modules that a test run imports: a file with such a name replaces them.
const RUNNER_MODULES: &[&str] = &[
    "pytest", "_pytest", "unittest", "pluggy", "nose2", "coverage",
];

/// Returns the role of a file in a project that is tested with `command`.
pub(super) fn role(path: &str, command: &[String]) -> FileRole {
    let (dirs, file) = path.rsplit_once('/').unwrap_or(("", path));
    let is_argument = |arg: &String| arg.strip_prefix("./").unwrap_or(arg) == path;
    let is_module = |name: &str| {
        let name = name.strip_suffix(".py").unwrap_or(name);
        RUNNER_MODULES.contains(&name)
    };
    if RUNNER_FILES.contains(&file)
        || RUNNER_STEMS.iter().any(|stem| file.starts_with(stem))
        || command.iter().any(is_argument)
        || is_test_script(path)
        || dirs.split('/').any(|dir| dir == ".cargo")
        || file.ends_with(".py") && is_module(file)
        || dirs.split('/').next().is_some_and(is_module)
        || file.ends_with(".pth")
    {
        return FileRole::Runner;
    }
    if matches!(
        file,
        "package.json" | "pyproject.toml" | "Cargo.toml" | "setup.cfg"
    ) {
        return FileRole::Manifest;
    }
    let is_target_file = matches!(
        file,
        "Makefile"
            | "makefile"
            | "GNUmakefile"
            | "justfile"
            | "Justfile"
            | ".justfile"
            | "Rakefile"
    );
    if is_target_file || file.ends_with(".mk") {
        return FileRole::Targets;
    }
    if is_test_file(path) {
        return FileRole::Test;
    }
    FileRole::Other
}

/// Returns `true` if the path is a usual name of a script that runs tests.
fn is_test_script(path: &str) -> bool {
    let (dirs, file) = path.rsplit_once('/').unwrap_or(("", path));
    let in_scripts = matches!(dirs, "" | "scripts" | "script" | "bin" | "ci" | "tools");
    let stem = file.split('.').next().unwrap_or(file);
    let is_script = !file.contains('.') || file.ends_with(".sh") || file.ends_with(".bash");
    in_scripts
        && is_script
        && matches!(
            stem,
            "test" | "tests" | "run_tests" | "run-tests" | "check" | "ci"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(role_: FileRole, paths: &[&str]) {
        let command = ["sh", "./ci/verify.sh"].map(str::to_owned);
        for path in paths {
            assert_eq!(role(path, &command), role_, "{path}");
        }
    }

    #[test]
    fn files_have_roles_by_name() {
        check(
            FileRole::Runner,
            &[
                "pytest.ini",
                "sub/jest.config.ts",
                ".cargo/config.toml",
                "ci/verify.sh",
                "scripts/test",
                "pytest.py",
                "_pytest/runner.py",
                ".npmrc",
            ],
        );
        check(
            FileRole::Test,
            &[
                "tests/helpers.py",
                "src/a.test.ts",
                "pkg/x_test.go",
                "conftest.py",
                "src/__snapshots__/a.js.snap",
                "src/test/java/ATest.java",
            ],
        );
        check(
            FileRole::Manifest,
            &["package.json", "a/pyproject.toml", "Cargo.toml"],
        );
        check(
            FileRole::Targets,
            &["Makefile", "build/rules.mk", "justfile"],
        );
        check(
            FileRole::Other,
            &[
                "src/lib.rs",
                "README.md",
                "src/testing.py",
                "latest.txt",
                "src/contest.rs",
            ],
        );
    }
}
