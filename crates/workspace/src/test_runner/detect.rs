//! Detects the test command of a project from its files.
//!
//! The commands are built in; a file selects one of them and cannot provide its own.

use std::path::Path;

use crate::git::small_file;

/// Returns the command that tests the project in this directory, if its files suggest one.
pub(crate) fn command(root: &Path) -> Option<Vec<String>> {
    let has = |name: &str| root.join(name).is_file();
    let split = |text: &str| Some(text.split(' ').map(str::to_owned).collect());
    if has("Cargo.toml") {
        return split("cargo test --no-fail-fast");
    }
    if has("go.mod") {
        return split("go test -v ./...");
    }
    if is_pytest(root) {
        return split("python3 -m pytest");
    }
    if has("package.json") && has_test_script(root) {
        return split(match () {
            () if has("pnpm-lock.yaml") => "pnpm test",
            () if has("yarn.lock") => "yarn test",
            () if has("bun.lock") || has("bun.lockb") => "bun run test",
            () => "npm test",
        });
    }
    None
}

/// Returns `true` if pytest is configured here, or if there are files that it would find.
fn is_pytest(root: &Path) -> bool {
    let contains = |name: &str, section: &str| {
        small_file(&root.join(name)).is_some_and(|text| text.contains(section))
    };
    root.join("pytest.ini").is_file()
        || root.join("conftest.py").is_file()
        || contains("pyproject.toml", "[tool.pytest")
        || contains("setup.cfg", "[tool:pytest]")
        || contains("tox.ini", "[pytest]")
        || ["", "tests", "test"]
            .iter()
            .any(|dir| has_python_tests(&root.join(dir)))
}

fn has_python_tests(dir: &Path) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.take(10_000).any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_test = name.starts_with("test_") || name.ends_with("_test.py");
        name == "conftest.py" || (is_test && name.ends_with(".py"))
    })
}

/// Returns `true` if there is a test script other than the placeholder that npm creates.
fn has_test_script(root: &Path) -> bool {
    let Some(text) = small_file(&root.join("package.json")) else {
        return false;
    };
    let package: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let script = package["scripts"]["test"].as_str().unwrap_or_default();
    !script.trim().is_empty() && !script.contains("no test specified")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let detected = command(dir.path()).map(|args| args.join(" "));
        assert_eq!(detected.unwrap_or_default(), expected);
    }

    #[test]
    fn test_command_is_detected_from_project_files() {
        check(&[("Cargo.toml", "")], "cargo test --no-fail-fast");
        check(&[("go.mod", "module x")], "go test -v ./...");
        check(&[("tests/test_a.py", "")], "python3 -m pytest");
        check(
            &[("pyproject.toml", "[tool.pytest.ini_options]")],
            "python3 -m pytest",
        );
        check(&[("pyproject.toml", "[project]")], "");
        check(
            &[("package.json", r#"{"scripts":{"test":"vitest run"}}"#)],
            "npm test",
        );
        let pnpm = [
            ("package.json", r#"{"scripts":{"test":"jest"}}"#),
            ("pnpm-lock.yaml", ""),
        ];
        check(&pnpm, "pnpm test");
    }

    #[test]
    fn placeholder_test_script_is_ignored() {
        let npm = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
        check(&[("package.json", npm)], "");
        check(&[("package.json", "not json")], "");
        check(&[("README.md", "")], "");
    }
}
