//! The rules of the house, each kept by a test. ARCHITECTURE.md says why they are there.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand};

#[path = "tidy/tokens.rs"]
mod tokens;

/// How the reason of an `#[ignore]` may begin; `scripts/test` prints it.
const REASONS: [&str; 2] = ["full: ", "needs "];

/// Which member may depend on which (without their prefix), outside of tests. The order is the order of the house.
const MAY_USE: &[(&str, &[&str])] = &[
    ("windlass-core", &[]),
    ("windlass-sandbox", &["core"]),
    ("windlass-mcp", &["core", "sandbox"]),
    ("windlass-wire", &["core"]),
    ("windlass-agents", &["core", "sandbox", "mcp", "wire"]),
    ("windlass-workspace", &["core", "sandbox"]),
    ("windlass-tools", &["core", "sandbox", "workspace"]),
    ("windlass-index", &["core"]),
    ("windlass-store", &["core"]),
    ("windlass-runner", &["core"]),
    ("windlass-gateway", &["core", "wire", "agents"]),
    ("windlass-server", &["core", "runner", "gateway"]),
    (
        "windlass-testkit",
        &["core", "sandbox", "mcp", "wire", "gateway"],
    ),
    (
        "windlass",
        &[
            "core",
            "sandbox",
            "mcp",
            "wire",
            "agents",
            "workspace",
            "tools",
            "index",
            "store",
            "runner",
            "gateway",
            "server",
            "testkit",
        ],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

/// Every file that git tracks or would track, with its text; what is not text is left out.
fn files() -> Vec<(String, String)> {
    let mut git = assert_cmd::Command::new("git");
    git.current_dir(root()).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let output = git.output().unwrap();
    assert!(output.status.success(), "git ls-files: {output:?}");
    let names = String::from_utf8(output.stdout).unwrap();
    let read = |name: &str| {
        let text = std::fs::read_to_string(root().join(name)).ok()?;
        Some((name.to_owned(), text))
    };
    names
        .split('\0')
        .filter(|name| !name.is_empty())
        .filter_map(read)
        .collect()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The source of the members themselves: no tests, no benchmarks, no examples.
fn sources() -> Vec<(String, String)> {
    let mut files = files();
    files.retain(|(name, _)| {
        let parts: Vec<&str> = name.split('/').collect();
        parts[0] == "crates" && parts.get(2) == Some(&"src") && name.ends_with(".rs")
    });
    assert!(files.len() > 20, "the sources were not found");
    files
}

/// The lines of code that say something: comments are not code, and neither is what `#[cfg(test)]` stands before.
fn code<'a>(name: &str, text: &'a str, says: impl Fn(&str) -> bool) -> Vec<(usize, &'a str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let is_code = |line: &str| !line.trim_start().starts_with("//");
    let mut found: Vec<_> = lines
        .filter(|(_, line)| is_code(line) && says(line))
        .collect();
    if !found.is_empty() {
        let tests = tokens::test_lines(&tokens::parse(name, text));
        found.retain(|(at, _)| !tests.iter().any(|test| test.contains(at)));
    }
    found
}

/// Fails with every place where a line of code says one of the words, outside the crates that may.
#[track_caller]
fn nowhere_but(crates: &[&str], words: &[&str], why: &str) {
    let mut places = Vec::new();
    for (name, text) in sources() {
        if crates
            .iter()
            .any(|home| name.starts_with(&format!("crates/{home}/")))
        {
            continue;
        }
        let says = |line: &str| words.iter().any(|word| line.contains(word));
        for (at, line) in code(&name, &text, says) {
            places.push(format!("{name}:{at}: {}", line.trim()));
        }
    }
    assert!(places.is_empty(), "{why}:\n{}", places.join("\n"));
}

#[test]
fn members_depend_in_one_direction() {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()
        .unwrap();
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        let may = allowed
            .get(name)
            .unwrap_or_else(|| panic!("{name} has no place in MAY_USE"));
        let uses = package.dependencies.iter().filter(|dependency| {
            dependency.kind == DependencyKind::Normal && dependency.name.starts_with("windlass")
        });
        for dependency in uses {
            assert!(
                may.iter()
                    .any(|used| dependency.name.strip_prefix("windlass-") == Some(used)),
                "{name} must not use {}",
                dependency.name
            );
        }
    }
}

#[test]
fn only_the_sandbox_starts_processes() {
    let mut places = Vec::new();
    for (name, text) in sources() {
        let names = |line: &str| line.contains("process::") && line.contains("Command");
        if !name.starts_with("crates/sandbox/") && !code(&name, &text, names).is_empty() {
            places.push(name);
        }
    }
    assert!(
        places.is_empty(),
        "only `sandbox` names process::Command: {places:?}"
    );
}

#[test]
fn only_the_store_speaks_sql() {
    let words = [
        "SELECT ",
        "INSERT INTO ",
        "UPDATE ",
        "DELETE FROM ",
        "CREATE TABLE ",
    ];
    nowhere_but(
        &["store", "index"],
        &words,
        "SQL lives in `store`, and in `index` for its cache",
    );
}

#[test]
fn only_the_servers_name_axum() {
    nowhere_but(
        &["gateway", "server"],
        &["axum"],
        "only `gateway` and `server` name axum",
    );
}

#[test]
fn p12_nothing_is_without_a_limit() {
    let words = [
        "unbounded_channel",
        "mpsc::unbounded",
        "sync::mpsc::channel(",
    ];
    nowhere_but(&[], &words, "a channel without a limit");

    // A read of everything must be a read of at most so much.
    let mut places = Vec::new();
    for (name, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        let whole = |line: &str| line.contains("read_to_end(") || line.contains("read_to_string(");
        for (at, line) in code(&name, &text, whole) {
            let near = lines[at.saturating_sub(6)..at].join("\n");
            if !near.contains(".take(") {
                places.push(format!("{name}:{at}: {}", line.trim()));
            }
        }
    }
    assert!(
        places.is_empty(),
        "reads without a limit:\n{}",
        places.join("\n")
    );
}

#[test]
fn nothing_is_left_undone() {
    let words = ["todo!(", "unimplemented!(", "FIXME", "XXX"];
    nowhere_but(&[], &words, "work left undone");
}

/// Every Rust file that has this word, as tokens.
fn rust(word: &str) -> impl Iterator<Item = (String, proc_macro2::TokenStream)> {
    let files = files().into_iter();
    files
        .filter(move |(name, text)| name.ends_with(".rs") && text.contains(word))
        .map(|(name, text)| {
            let tokens = tokens::parse(&name, &text);
            (name, tokens)
        })
}

#[test]
fn every_ignored_test_has_a_reason() {
    for (name, source) in rust("#[ignore") {
        for (line, reason) in tokens::ignored(&source) {
            let reason = reason.unwrap_or_default();
            assert!(
                REASONS.iter().any(|start| reason.starts_with(start)),
                "{name}:{line}: the reason of an ignored test begins with one of {REASONS:?}"
            );
        }
    }
}

#[test]
fn no_test_passes_without_checking_anything() {
    let mut places = Vec::new();
    for (name, source) in rust("test") {
        let mut found = tokens::hollow_tests(&source);
        if name.contains("/tests/") {
            found.extend(tokens::environment_returns(&source));
        }
        let found = found.into_iter();
        places.extend(found.map(|(line, why)| format!("{name}:{line}: {why}")));
    }
    assert!(
        places.is_empty(),
        "a test that cannot run is `#[ignore = \"reason\"]`:\n{}",
        places.join("\n")
    );
}

#[test]
fn failing_property_cases_are_kept() {
    let forgets = concat!("failure_persistence: ", "None");
    for (name, text) in files() {
        let is_code = name.ends_with(".rs");
        assert!(
            !is_code || !text.contains(forgets),
            "{name}: a failing case must be kept in a file"
        );
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    for (name, text) in sources() {
        assert!(text.starts_with("//! "), "{name} does not open with //!");
    }
}

#[test]
fn files_can_be_read_in_a_minute() {
    let mut long: Vec<String> = Vec::new();
    for (name, text) in sources() {
        let lines = text.lines().count();
        if lines > 400 {
            long.push(format!("{lines} {name}"));
        }
    }
    assert!(
        long.is_empty(),
        "longer than 400 lines, better two rooms:\n{}",
        long.join("\n")
    );
}

#[test]
fn the_house_is_described() {
    let (map, list) = (read("ARCHITECTURE.md"), read("crates/README.md"));
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            assert!(
                map.contains(&format!("`{name}`")),
                "{name} is not in ARCHITECTURE.md"
            );
            assert!(
                list.contains(&format!("`{name}`")),
                "{name} is not in crates/README.md"
            );
        }
    }
}

#[test]
fn every_promise_is_proved_or_marked_as_not_yet_held() {
    let tests: String = files()
        .into_iter()
        .filter(|(name, _)| name.ends_with(".rs"))
        .map(|(_, text)| text)
        .collect();
    let page = read("docs/promises.md");
    for number in 1..=28 {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| P{number} |")))
            .unwrap_or_else(|| panic!("P{number} is not in docs/promises.md"));
        let proved = tests.contains(&format!("fn p{number}_"));
        let waits = row.contains("not yet held");
        assert!(
            proved || waits,
            "P{number} has no test, and does not say that it is not yet held"
        );
        assert!(
            proved || !row.contains("| held"),
            "P{number} is called held without a test"
        );
    }
}

#[test]
fn links_between_our_pages_lead_somewhere() {
    for (name, text) in files() {
        if !name.ends_with(".md") {
            continue;
        }
        let folder = root().join(&name);
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let path = link.split('#').next().unwrap_or("");
            if path.is_empty() || link.contains("://") || link.contains(' ') {
                continue;
            }
            assert!(
                folder.with_file_name(path).exists(),
                "{name} links to {link}"
            );
        }
    }
}

#[test]
fn p28_no_file_names_a_machine_or_a_registry() {
    let hosts = [
        concat!("registry.np", "mjs"),
        concat!("files.pythonho", "sted"),
        concat!("deb.deb", "ian.org"),
        concat!("\"res", "olved\": \"http"),
    ];
    let paths = [
        concat!("/wo", "rk/main"),
        concat!("/wo", "rk/target"),
        concat!("/ro", "ot/"),
    ];
    for (name, text) in files() {
        for word in hosts.iter().chain(&paths) {
            assert!(!text.contains(word), "{name} contains {word}");
        }
    }
}
