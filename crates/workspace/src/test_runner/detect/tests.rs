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
    let detected = command(dir.path()).map(|args| args.join(" "));
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
    let projects = sub_projects(dir.path());
    let dirs: Vec<&str> = projects.iter().map(|project| &*project.dir).collect();
    assert_eq!(dirs, ["api", "web"]);
    let found = commands_for(&projects, &["web/src/a.ts"]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].command.join(" "), "env --chdir=web npm test");
    let setup = found[0].setup.as_ref().unwrap().join(" ");
    assert_eq!(setup, "env --chdir=web npm ci --no-audit --no-fund");
}

#[test]
fn members_of_a_workspace_have_the_setup_of_the_root() {
    let pnpm = "packages:\n  - 'packages/*'\n  - \"!packages/old\"\nother: x\n";
    let files = [
        ("package.json", r#"{"name":"root"}"#),
        ("pnpm-workspace.yaml", pnpm),
        ("pnpm-lock.yaml", ""),
        ("packages/a/package.json", NPM_TEST),
        ("packages/old/package.json", NPM_TEST),
        ("packages/no-tests/package.json", "{}"),
    ];
    let dir = repository(&files);
    let projects = sub_projects(dir.path());
    let a = commands_for(&projects, &["packages/a/src/x.ts"]);
    assert_eq!(a[0].command.join(" "), "pnpm --filter=./packages/a test");
    let setup = a[0].setup.as_ref().unwrap().join(" ");
    assert_eq!(setup, "pnpm install --frozen-lockfile");
    let all = commands_for(&projects, &["packages/no-tests/x.ts"]);
    assert_eq!(all[0].command.join(" "), "pnpm --recursive test");

    let files = [
        ("Cargo.toml", "[workspace]\nmembers = ['crates/*']\n"),
        ("crates/one/Cargo.toml", "[package]\nname = 'one'\n"),
    ];
    let dir = repository(&files);
    let projects = sub_projects(dir.path());
    let one = commands_for(&projects, &["crates/one/src/lib.rs"]);
    let expected = "cargo test --no-fail-fast --package=one";
    assert_eq!(one[0].command.join(" "), expected);
}
