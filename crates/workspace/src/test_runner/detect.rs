//! Which command tests a project, told from its files.
//!
//! The commands are ours; a file chooses among them and cannot bring its own.

use std::path::Path;

use crate::git::small_file;

/// The command that tests the project in this folder, if its files suggest one.
pub(crate) fn command(root: &Path) -> Option<Vec<String>> {
    let has = |name: &str| root.join(name).is_file();
    let words = |text: &str| Some(text.split(' ').map(str::to_owned).collect());
    if has("Cargo.toml") {
        return words("cargo test --no-fail-fast");
    }
    if has("go.mod") {
        return words("go test -v ./...");
    }
    if is_pytest(root) {
        return words("python3 -m pytest");
    }
    if has("package.json") && has_test_script(root) {
        return words(match () {
            () if has("pnpm-lock.yaml") => "pnpm test",
            () if has("yarn.lock") => "yarn test",
            () if has("bun.lock") || has("bun.lockb") => "bun run test",
            () => "npm test",
        });
    }
    None
}

/// Whether pytest is set up here, or there are files that it would find.
fn is_pytest(root: &Path) -> bool {
    let says = |name: &str, word: &str| {
        small_file(&root.join(name)).is_some_and(|text| text.contains(word))
    };
    root.join("pytest.ini").is_file()
        || root.join("conftest.py").is_file()
        || says("pyproject.toml", "[tool.pytest")
        || says("setup.cfg", "[tool:pytest]")
        || says("tox.ini", "[pytest]")
        || ["", "tests", "test"]
            .iter()
            .any(|folder| has_python_tests(&root.join(folder)))
}

fn has_python_tests(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.take(10_000).any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_test = name.starts_with("test_") || name.ends_with("_test.py");
        name == "conftest.py" || (is_test && name.ends_with(".py"))
    })
}

/// Whether there is a script that is not the one npm puts there to say that there is none.
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
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = command(folder.path()).map(|words| words.join(" "));
        assert_eq!(found.unwrap_or_default(), expected);
    }

    #[test]
    fn each_kind_of_project_is_known_by_its_files() {
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
    fn a_script_that_says_there_is_none_is_none() {
        let npm = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
        check(&[("package.json", npm)], "");
        check(&[("package.json", "not json")], "");
        check(&[("README.md", "")], "");
    }
}
