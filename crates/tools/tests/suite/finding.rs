//! What a search finds, and what it skips.

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use windlass_tools::{SearchQuery, search};

use super::support::User;

fn project() -> User {
    let user = User::new();
    user.put("src/main.rs", "fn main() {\n    greet();\n}\n");
    user.put("src/deep/lib.rs", "pub fn greet() {}\n");
    user.put("README.md", "Greet the world.\n");
    user.put(".github/ci.yml", "run: greet\n");
    user.put("target/out.rs", "greet\n");
    user.put("src/deep/made.rs", "greet\n");
    user.put(".gitignore", "/target\n*.log\n");
    user.put("src/.gitignore", "made.rs\n!kept.log\n");
    user.put("a.log", "greet\n");
    user.put("src/kept.log", "greet\n");
    user.put(".git/config", "greet\n");
    user
}

fn query(pattern: &str) -> SearchQuery {
    SearchQuery {
        pattern: pattern.to_owned(),
        ..SearchQuery::default()
    }
}

#[test]
fn search_finds_lines_in_files_not_ignored_by_git() {
    let user = project();
    let find = |query: SearchQuery| search(&user.root(), &query).unwrap();
    assert_eq!(
        find(query("greet")).detail,
        ".github/ci.yml:1:run: greet\nsrc/kept.log:1:greet\nsrc/main.rs:2:    greet();\nsrc/deep/lib.rs:1:pub fn greet() {}"
    );
    let no_case = SearchQuery {
        ignore_case: true,
        glob: Some("*.md".into()),
        ..query("^greet\\b")
    };
    assert_eq!(find(no_case).detail, "README.md:1:Greet the world.");
    let literal = SearchQuery {
        literal: true,
        path: Some("src/".into()),
        ..query("greet()")
    };
    assert_eq!(
        find(literal).detail,
        "src/main.rs:2:    greet();\nsrc/deep/lib.rs:1:pub fn greet() {}"
    );
    let below = SearchQuery {
        path: Some("src/deep".into()),
        ..query("greet")
    };
    assert_eq!(find(below).detail, "src/deep/lib.rs:1:pub fn greet() {}");
    let around = SearchQuery {
        context: 1,
        path: Some("./src/main.rs".into()),
        ..query("greet")
    };
    assert_eq!(
        find(around).detail,
        "src/main.rs-1-fn main() {\nsrc/main.rs:2:    greet();\nsrc/main.rs-3-}"
    );
    let others = SearchQuery {
        glob: Some("!src/**".into()),
        ..query("greet")
    };
    assert_eq!(find(others).detail, ".github/ci.yml:1:run: greet");
    assert_eq!(find(query("nowhere")).detail, "no matches");
}

#[test]
fn invalid_search_is_a_failed_result() {
    let user = project();
    let find = |query: SearchQuery| search(&user.root(), &query);
    for (query, expected) in [
        (query("("), "search: invalid pattern"),
        (query(""), "search: the pattern is empty"),
        (
            SearchQuery {
                glob: Some("{".into()),
                ..query("x")
            },
            "search: invalid glob",
        ),
        (
            SearchQuery {
                path: Some("none".into()),
                ..query("x")
            },
            "search: not found: none",
        ),
    ] {
        let result = find(query).unwrap();
        assert!(
            !result.ok && result.detail.starts_with(expected),
            "{}",
            result.detail
        );
    }
    assert!(
        find(SearchQuery {
            path: Some("..".into()),
            ..query("x")
        })
        .unwrap_err()
        .is_escape()
    );
}

#[test]
fn p12_long_results_are_truncated_and_marked() {
    let user = User::new();
    user.put("many", &"x\n".repeat(5000));
    user.put("wide", &"x".repeat(5000));
    let result = search(&user.root(), &query("x")).unwrap();
    assert_eq!(result.detail.lines().count(), 201);
    assert!(
        result
            .detail
            .ends_with("[… cut after 200 matches: narrow the search …]")
    );
    let wide = SearchQuery {
        path: Some("wide".into()),
        ..query("x")
    };
    assert!(
        search(&user.root(), &wide)
            .unwrap()
            .detail
            .ends_with("x[… 4600 bytes cut …]")
    );
    let sparse = std::fs::File::create(user.project().join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let result = search(&user.root(), &query("y")).unwrap();
    assert!(
        result
            .detail
            .contains("[1 files larger than 16 MiB were not searched]")
    );
}

/// No file of a project can block a search or lead it outside.
#[tokio::test]
async fn p17_pipes_and_links_are_skipped() {
    let user = project();
    user.write("outside/secret", "canary greet");
    let project = user.project();
    std::os::unix::fs::symlink("../outside", project.join("link")).unwrap();
    std::os::unix::fs::symlink("../outside/secret", project.join("linked.rs")).unwrap();
    std::fs::remove_file(project.join(".gitignore")).unwrap();
    let mode = Mode::from_raw_mode(0o666);
    for name in [".gitignore", "pipe.rs"] {
        mknodat(CWD, project.join(name), FileType::Fifo, mode, 0).unwrap();
    }
    let tools = user.files();
    let output = tools.call("search", json!({"pattern": "greet"})).await;
    assert!(
        output.success && output.text.contains("target/out.rs") && !output.text.contains("canary")
    );
    for path in ["link", "link/secret", "linked.rs"] {
        let error = tools
            .try_call("search", json!({"pattern": "x", "path": path}))
            .await;
        assert_eq!(error.unwrap_err().to_string(), "path escapes sandbox");
    }
}

#[test]
fn p12_pattern_that_needs_too_much_memory_is_rejected() {
    let user = project();
    let found = search(&user.root(), &query(r"(\w{100}\d{100}){200}")).unwrap();
    assert!(
        !found.ok && found.detail.contains("invalid pattern"),
        "{}",
        found.detail
    );
}
