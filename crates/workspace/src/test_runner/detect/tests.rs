//! Detection of test commands and set-ups on small repositories.

use super::*;

type Files<'a> = &'a [(&'a str, &'a str)];

fn repository(files: Files<'_>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

/// Checks the command on a machine that has everything installed.
#[track_caller]
fn check(files: Files<'_>, expected: &str) {
    let dir = repository(files);
    let detected = commands(dir.path()).map(|found| found.installed.join(" "));
    assert_eq!(detected.unwrap_or_default(), expected, "{files:?}");
}

/// Checks the proposed command and set-up.
#[track_caller]
fn check_proposal(files: Files<'_>, command: &str, setup: &str) {
    let dir = repository(files);
    let proposal = propose_tests(dir.path()).unwrap();
    let proposed = proposal.setup.unwrap_or_default().join(" ");
    assert_eq!(
        (proposal.command.join(" ").as_str(), proposed.as_str()),
        (command, setup),
        "{files:?}"
    );
}

const NPM_TEST: &str = r#"{"scripts":{"test":"jest"},"devDependencies":{"jest":"1"}}"#;

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
    check(
        &[("package.json", NPM_TEST), ("pnpm-lock.yaml", "")],
        "pnpm test",
    );
    check(&[("pom.xml", "")], "mvn --batch-mode test");
    check(
        &[("build.gradle.kts", ""), ("gradlew", "")],
        "./gradlew --no-daemon test",
    );
    check(&[("Gemfile", ""), (".rspec", "")], "bundle exec rspec");
    check(&[("Makefile", "test: all\n\techo")], "make test");
    check(&[("justfile", "test filter='':\n  echo")], "just test");
    check(&[("scripts/test.sh", "")], "sh scripts/test.sh");
    check(&[("script/test", "")], "./script/test");
}

#[test]
fn files_that_only_look_like_tests_are_ignored() {
    let npm = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
    check(&[("package.json", npm)], "");
    check(&[("package.json", "not json")], "");
    check(
        &[("Makefile", "test := 1\nall:\n\ttest: x\n# test: y\n")],
        "",
    );
    check(&[("README.md", "")], "");
}

#[test]
fn setup_follows_the_lock_file() {
    let package = ("package.json", NPM_TEST);
    for (lock, text, command, setup) in [
        (
            "package-lock.json",
            "",
            "npm test",
            "npm ci --no-audit --no-fund",
        ),
        (
            "README.md",
            "",
            "npm test",
            "npm install --no-audit --no-fund",
        ),
        (
            "pnpm-lock.yaml",
            "",
            "pnpm test",
            "pnpm install --frozen-lockfile",
        ),
        (
            "yarn.lock",
            "# yarn lockfile v1",
            "yarn test",
            "yarn install --frozen-lockfile",
        ),
        (
            "yarn.lock",
            "__metadata:\n",
            "yarn test",
            "yarn install --immutable",
        ),
        (
            "bun.lock",
            "",
            "bun run test",
            "bun install --frozen-lockfile",
        ),
    ] {
        check_proposal(&[package, (lock, text)], command, setup);
    }
    check_proposal(
        &[("package.json", r#"{"scripts":{"test":"node --test"}}"#)],
        "npm test",
        "",
    );
    check_proposal(
        &[("package.json", r#"{"devDependencies":{"vitest":"1"}}"#)],
        "npx vitest run",
        "npm install --no-audit --no-fund",
    );
}

const PIP: &str = "sh -c python3 -m venv .venv && .venv/bin/python -m pip install --quiet ";

#[test]
fn python_environment_has_what_the_project_names_for_tests() {
    let test = ("tests/test_a.py", "");
    let pytest = ".venv/bin/python -m pytest";
    for (file, text, expected) in [
        ("README", "", "pytest"),
        ("requirements.txt", "flask", "-r requirements.txt pytest"),
        ("requirements-dev.txt", "", "-r requirements-dev.txt pytest"),
        (
            "requirements/tests.txt",
            "",
            "-r requirements/tests.txt pytest",
        ),
        (
            "setup.py",
            "setup(extras_require={'test': []})",
            "-e '.[test]' pytest",
        ),
        (
            "setup.cfg",
            "[metadata]\nname = a\n[options.extras_require]\ntesting =\n  pytest\n[x]\ntest = 1\n",
            "-e '.[testing]' pytest",
        ),
        (
            "pyproject.toml",
            "[project]\nname = 'a'\n[project.optional-dependencies]\ndev = []\ntests = []\n",
            "-e '.[tests]' pytest",
        ),
        (
            "pyproject.toml",
            "[project]\nname = 'a'\n[dependency-groups]\nbase = ['attrs']\n\
             test = ['pytest>=8', {include-group = 'base'}, \"it's\"]\n",
            r"-e . 'pytest>=8' attrs 'it'\''s'",
        ),
        (
            "tox.ini",
            "[testenv]\ndeps =\n    pytest\n    -r extra.txt # comment\n    py310: old\n    {x}\n\
             commands = pytest\n",
            "pytest -r extra.txt",
        ),
        (
            "noxfile.py",
            "import nox\n@nox.session\ndef lint(session):\n    session.install('black')\n\
             \ndef tests(session):\n    session.install('-e', '.', 'pytest', \"mock\")\n",
            "pytest mock",
        ),
    ] {
        check_proposal(&[test, (file, text)], pytest, &format!("{PIP}{expected}"));
    }
}

#[test]
fn uv_and_poetry_create_the_environment_in_the_checkout() {
    let project = "[project]\nname = 'a'\n[project.optional-dependencies]\ntest = []\n\
                   [dependency-groups]\ndev = []\ntests = []\n";
    let test = ("tests/test_a.py", "");
    let pytest = ".venv/bin/python -m pytest";
    check_proposal(
        &[test, ("pyproject.toml", project), ("uv.lock", "")],
        pytest,
        "uv sync --frozen --group tests --extra test",
    );
    check_proposal(
        &[test, ("pyproject.toml", "[tool.poetry]\nname = 'a'\n")],
        pytest,
        "env POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction",
    );
}

#[test]
fn compiled_languages_download_and_compile_first() {
    check_proposal(
        &[
            ("Cargo.toml", "[dependencies]\na = '1'\n"),
            ("Cargo.lock", ""),
        ],
        "cargo test --no-fail-fast",
        "sh -c cargo fetch --locked && { cargo test --no-run --locked || true; }",
    );
    check_proposal(&[("Cargo.toml", "")], "cargo test --no-fail-fast", "");
    check_proposal(
        &[("go.mod", "module x"), ("go.sum", "")],
        "go test -v ./...",
        "sh -c go mod download && { go test -run '^$' ./... || true; }",
    );
    let work = "go 1.22\nuse (\n\t./a // first\n\t\"./b/\"\n)\nuse ./c\n";
    check(&[("go.work", work)], "go test -v ./a/... ./b/... ./c/...");
}

#[test]
fn several_projects_are_tested_together() {
    let files = [
        ("api/requirements.txt", ""),
        ("api/tests/test_a.py", ""),
        ("web/package.json", NPM_TEST),
        ("web/package-lock.json", ""),
        ("web/inner/package.json", NPM_TEST),
        ("docs/package.json", NPM_TEST),
    ];
    check(
        &files,
        "sh -c status=0; env --chdir=api python3 -m pytest || status=$?; \
         env --chdir=web npm test || status=$?; exit $status",
    );
    check(&files[2..4], "env --chdir=web npm test");
    let dir = repository(&files);
    assert_eq!(propose_tests(dir.path()).unwrap().projects, ["api", "web"]);
    assert_eq!(
        projects(&dir, &commands(dir.path()).unwrap().installed),
        [
            ("api", "env --chdir=api python3 -m pytest", ""),
            ("web", "env --chdir=web npm test", "")
        ]
        .map(own)
    );
    let proposal = propose_tests(dir.path()).unwrap();
    let prepared = projects(&dir, &proposal.command);
    assert_eq!(prepared[0].1, "env --chdir=api .venv/bin/python -m pytest");
    // The command after the set-up is used only with this set-up.
    let detected = commands(dir.path()).unwrap();
    let setup = proposal.setup.as_deref();
    assert_eq!(detected.clone().after(setup), proposal.command);
    assert_eq!(detected.clone().after(None), detected.installed);
    let other = ["true".to_owned()];
    assert_eq!(detected.clone().after(Some(&other)), detected.installed);
    // Another command tests what it says.
    assert_eq!(projects(&dir, &other), []);
}

fn own((dir, command, dependents): (&str, &str, &str)) -> (String, String, String) {
    (dir.to_owned(), command.to_owned(), dependents.to_owned())
}

/// Returns the directories, commands and dependents of the projects.
fn projects(dir: &tempfile::TempDir, command: &[String]) -> Vec<(String, String, String)> {
    let found = sub_projects(dir.path(), command).into_iter();
    found
        .map(|one| (one.dir, one.command.join(" "), one.dependents.join(" ")))
        .collect()
}

#[test]
fn members_of_a_workspace_are_tested_alone_unless_the_root_has_tests() {
    let pnpm = "packages:\n  - 'packages/*'\n  - \"!packages/old\"\nother: x\n";
    let uses_a =
        r#"{"name":"b","scripts":{"test":"jest"},"dependencies":{"@shop/a":"workspace:*"}}"#;
    let a = r#"{"name":"@shop/a","scripts":{"test":"jest"}}"#;
    let files = [
        ("package.json", r#"{"name":"root"}"#),
        ("pnpm-workspace.yaml", pnpm),
        ("pnpm-lock.yaml", ""),
        ("packages/a/package.json", a),
        ("packages/b/package.json", uses_a),
        ("packages/old/package.json", NPM_TEST),
        ("packages/no-tests/package.json", "{}"),
    ];
    let dir = repository(&files);
    let whole = propose_tests(dir.path()).unwrap();
    assert_eq!(whole.command.join(" "), "pnpm --recursive test");
    assert_eq!(
        projects(&dir, &whole.command),
        [
            (
                "packages/a",
                "pnpm --filter=./packages/a test",
                "packages/b"
            ),
            ("packages/b", "pnpm --filter=./packages/b test", "")
        ]
        .map(own)
    );

    let members = [
        ("crates/one/Cargo.toml", "[package]\nname = 'one'\n"),
        (
            "crates/two/Cargo.toml",
            "[package]\nname = 'two'\n[dependencies]\none.workspace = true\n",
        ),
        (
            "crates/three/Cargo.toml",
            "[package]\nname = 'three'\n[dependencies]\nx = { path = '../two' }\n",
        ),
        ("crates/stone/Cargo.toml", "[package]\nname = 'stone'\n"),
    ];
    let mut files = members.to_vec();
    files.push(("Cargo.toml", "[workspace]\nmembers = ['crates/*']\n"));
    let dir = repository(&files);
    let command = commands(dir.path()).unwrap().installed;
    let found = projects(&dir, &command);
    let found: Vec<(&str, &str)> = found.iter().map(|one| (&*one.0, &*one.2)).collect();
    assert_eq!(
        found,
        [
            ("crates/one", "crates/two"),
            ("crates/stone", ""),
            ("crates/three", ""),
            ("crates/two", "crates/three")
        ]
    );
    assert_eq!(
        projects(&dir, &command)[0].1,
        "cargo test --no-fail-fast --package=one"
    );
    // The tests of a package in the root may test anything.
    files.pop();
    let root = "[package]\nname = 'root'\n[workspace]\nmembers = ['crates/*']\n";
    files.push(("Cargo.toml", root));
    let dir = repository(&files);
    assert_eq!(projects(&dir, &command), []);
}
