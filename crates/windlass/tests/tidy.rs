//! Tests that enforce the rules of the code base. ARCHITECTURE.md gives the reasons.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand};

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/tokens.rs"]
mod tokens;

/// Allowed prefixes of the reason of an `#[ignore]`; `scripts/test` prints the reason.
const REASONS: [&str; 2] = ["full: ", "needs "];

/// The crates that each crate may depend on (without their prefix), except in tests. The order is that of
/// ARCHITECTURE.md.
const MAY_USE: &[(&str, &[&str])] = &[
    ("windlass-core", &[]),
    ("windlass-cassette", &["core"]),
    ("windlass-tasks", &["core"]),
    ("windlass-sandbox", &["core"]),
    ("windlass-mcp", &["core", "sandbox"]),
    ("windlass-wire", &[]),
    ("windlass-agents", &["core", "sandbox", "mcp", "wire"]),
    (
        "windlass-bridge",
        &["core", "tasks", "wire", "cassette", "agents"],
    ),
    ("windlass-workspace", &["core", "tasks", "sandbox"]),
    ("windlass-tools", &["core", "sandbox", "workspace"]),
    ("windlass-index", &["core", "tasks"]),
    ("windlass-store", &["core", "tasks"]),
    ("windlass-runner", &["core", "tasks"]),
    ("windlass-scripted", &["core", "cassette", "wire"]),
    ("windlass-gateway", &["core", "wire", "agents"]),
    ("windlass-server", &["core", "tasks", "runner", "gateway"]),
    ("windlass-acp", &["core", "tasks", "wire"]),
    (
        "windlass-testkit",
        &["core", "cassette", "sandbox", "mcp", "scripted"],
    ),
    (
        "windlass",
        &[
            "core",
            "cassette",
            "tasks",
            "sandbox",
            "mcp",
            "wire",
            "agents",
            "bridge",
            "workspace",
            "tools",
            "index",
            "store",
            "runner",
            "scripted",
            "gateway",
            "server",
            "acp",
            "testkit",
        ],
    ),
];

/// Type names that may have more than one definition, with the reason.
const SHARED_TYPE_NAMES: &[(&str, &[&str])] = &[
    ("one for each crate", &["Error", "Result"]),
    (
        "one for each module of a family",
        &["Decoder", "Encoder", "Input"],
    ),
    (
        "private mirrors of the JSON of another program",
        &["Block", "Event", "Item", "Message", "Tokens"],
    ),
    (
        "private helpers of a module",
        &[
            "Entry",
            "Inner",
            "Lines",
            "OpenTool",
            "PendingApproval",
            "Started",
        ],
    ),
    (
        "the same in the two conformance suites",
        &["Case", "CaseResult", "Report"],
    ),
    (
        "the same concept in two crates that do not know each other",
        &["Hunk", "ToolCall"],
    ),
];

/// Phrases that may not occur in sources and documentation, each with its replacement. Lower case; only whole words
/// match.
const BANNED_PHRASES: &[(&str, &str)] = &[
    (
        "whoever",
        "the role: the caller, the client, the user, the worker",
    ),
    ("somebody", "the role: a client, a user, another process"),
    ("nobody", "no client, no receiver; or use the active voice"),
    ("anybody", "any client, any caller"),
    ("everybody", "all subscribers, all clients"),
    ("is told", "receives, is notified, is sent"),
    ("are told", "receive, are notified, are sent"),
    ("was told", "received, was notified, was sent"),
    ("told apart", "distinguished"),
    ("is said", "is reported, is sent"),
    ("was said", "was reported, was output"),
    ("last words", "final output, end of stderr"),
    ("in a few words", "briefly, as text"),
    ("word for word", "verbatim"),
    ("takes up", "resumes"),
    ("taken up", "resumed"),
    ("anew", "again; restarted, recreated, reset"),
    ("under way", "running, in progress"),
    ("behind walls", "sandboxed, in the sandbox"),
    ("without walls", "unsandboxed"),
    ("as hoped", "success"),
    ("passed over", "skipped, ignored"),
    ("makes room", "is evicted"),
    ("went silent", "stopped sending heartbeats"),
    ("what became of", "the outcome of, the status of"),
    ("what came of", "the result of"),
    ("cleared away", "removed"),
    ("cannot be had", "is unavailable"),
    ("broken off", "interrupted, cancelled, truncated"),
    ("for the time being", "temporarily"),
    ("what is checked out", "the current branch, HEAD"),
    ("carries the plan out", "executes the plan"),
    ("everyone", "all clients, all users"),
    ("someone", "the role: a client, a user, another process"),
    ("anyone", "any client, any user"),
    ("tells of", "reports"),
    ("put into words", "rendered as text"),
    ("in the words of", "in the format of"),
    ("something to say", "output, a message"),
    ("hears", "receives, handles"),
    ("heard", "received, handled"),
    ("deaf", "ignores"),
    ("begun", "started"),
    ("comes to its end", "ends"),
    ("walls", "sandbox"),
    ("mended", "repaired, fixed"),
    ("passes over", "skips, ignores"),
    ("in good form", "valid, well-formed"),
    ("complaint", "error message"),
    ("misfit", "mismatch, schema violation"),
    ("stands in for", "replaces"),
    ("stands beside", "is next to"),
    ("as it stands", "unchanged, as is"),
    ("lies in", "is in"),
    ("in the place of", "instead of"),
    ("given back", "released, returned"),
    ("takes back", "reclaims, revokes, undoes"),
    ("an own", "a separate, a private"),
    ("left behind", "left over, not removed"),
    ("tidies up", "cleans up"),
    ("looks after", "monitors, maintains"),
    ("by its looks", "by pattern"),
    ("makes no sense", "is invalid"),
    ("where there is none", "if it is missing"),
    ("for ever", "forever"),
    ("again and again", "repeatedly, until"),
    ("at once", "immediately, or concurrently"),
    ("one after the other", "sequentially"),
    ("obeys", "applies, honors"),
    ("held against", "compared with"),
    ("held to", "validated against, limited to"),
    ("spoils", "aborts"),
    ("deed", "operation"),
    ("used up", "exhausted, consumed"),
    ("on its way", "in transit, being streamed"),
    ("in force", "in effect"),
    ("state of things", "current state"),
    ("careless", "misbehaving"),
    ("does otherwise", "deviates"),
    ("insists on", "requires"),
    ("patience", "timeout"),
    ("the living", "live"),
    ("the dead", "stale, ended"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

/// Returns every text file that git tracks or would track, with its content.
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

/// Returns the sources of the crates, without tests, benchmarks and examples.
fn sources() -> Vec<(String, String)> {
    let mut files = files();
    files.retain(|(name, _)| {
        let parts: Vec<&str> = name.split('/').collect();
        parts[0] == "crates" && parts.get(2) == Some(&"src") && name.ends_with(".rs")
    });
    assert!(files.len() > 20, "the sources were not found");
    files
}

/// Returns the matching lines of code, without comments and without items under `#[cfg(test)]`.
fn code<'a>(name: &str, text: &'a str, matches: impl Fn(&str) -> bool) -> Vec<(usize, &'a str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let is_code = |line: &str| !line.trim_start().starts_with("//");
    let mut found: Vec<_> = lines
        .filter(|(_, line)| is_code(line) && matches(line))
        .collect();
    if !found.is_empty() {
        let tests = tokens::test_lines(&tokens::parse(name, text));
        found.retain(|(at, _)| !tests.iter().any(|test| test.contains(at)));
    }
    found
}

/// Fails with every line of code that contains one of the words, outside of the given crates.
#[track_caller]
fn assert_only_in(crates: &[&str], words: &[&str], why: &str) {
    let mut found = Vec::new();
    for (name, text) in sources() {
        if crates
            .iter()
            .any(|krate| name.starts_with(&format!("crates/{krate}/")))
        {
            continue;
        }
        let matches = |line: &str| words.iter().any(|word| line.contains(word));
        for (at, line) in code(&name, &text, matches) {
            found.push(format!("{name}:{at}: {}", line.trim()));
        }
    }
    assert!(found.is_empty(), "{why}:\n{}", found.join("\n"));
}

#[test]
fn crates_depend_in_one_direction() {
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
            .unwrap_or_else(|| panic!("{name} has no row in MAY_USE"));
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
fn testkit_without_features_uses_core_and_cassettes() {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()
        .unwrap();
    let packages = metadata.workspace_packages();
    let testkit = packages
        .iter()
        .find(|package| package.name == "windlass-testkit")
        .unwrap();
    let always: Vec<&str> = testkit
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind == DependencyKind::Normal && !dependency.optional)
        .map(|dependency| dependency.name.as_str())
        .filter(|name| name.starts_with("windlass"))
        .collect();
    assert_eq!(always, ["windlass-cassette", "windlass-core"]);
}

#[test]
fn crates_can_be_packaged() {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()
        .unwrap();
    for package in metadata.workspace_packages() {
        let name = &package.name;
        let has_texts = package.description.is_some() && package.license.is_some();
        assert!(has_texts, "{name} has no description or no license");
        let has_labels = !package.keywords.is_empty() && !package.categories.is_empty();
        assert!(has_labels, "{name} has no keywords or no categories");
        let readme = package.readme().unwrap_or_default();
        assert!(readme.as_std_path().exists(), "{name} has no readme");
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let file = package.manifest_path.with_file_name(file);
            assert!(file.exists(), "{file} does not exist");
        }
        let with_version = package.dependencies.iter().find(|dependency| {
            dependency.kind == DependencyKind::Development
                && dependency.path.is_some()
                && dependency.req.to_string() != "*"
        });
        assert!(
            with_version.is_none(),
            "{name}: name a development dependency of this workspace by path, without a version: {with_version:?}"
        );
    }
}

#[test]
fn modules_have_no_circles() {
    let mut crates: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (name, text) in sources() {
        let (krate, file) = name["crates/".len()..].split_once("/src/").unwrap();
        if !file.contains("tests") {
            let parsed = (file.to_owned(), tokens::parse(&name, &text));
            crates.entry(krate.to_owned()).or_default().push(parsed);
        }
    }
    let circles: Vec<_> = crates
        .iter()
        .map(|(krate, files)| (krate, circles::find(files)))
        .filter(|(_, circles)| !circles.is_empty())
        .collect();
    assert!(
        circles.is_empty(),
        "move what these modules share into another module: {circles:?}"
    );
}

#[test]
fn only_sandbox_starts_processes() {
    let mut found = Vec::new();
    for (name, text) in sources() {
        let matches = |line: &str| line.contains("process::") && line.contains("Command");
        if !name.starts_with("crates/sandbox/") && !code(&name, &text, matches).is_empty() {
            found.push(name);
        }
    }
    assert!(
        found.is_empty(),
        "only `sandbox` may use process::Command: {found:?}"
    );
}

#[test]
fn only_store_and_index_contain_sql() {
    let words = [
        "SELECT ",
        "INSERT INTO ",
        "UPDATE ",
        "DELETE FROM ",
        "CREATE TABLE ",
    ];
    assert_only_in(
        &["store", "index"],
        &words,
        "SQL is allowed only in `store`, and in `index` for its cache",
    );
}

#[test]
fn only_http_servers_use_axum() {
    assert_only_in(
        &["scripted", "gateway", "server"],
        &["axum"],
        "only `scripted`, `gateway` and `server` may use axum",
    );
}

#[test]
fn p12_channels_and_reads_are_bounded() {
    let words = [
        "unbounded_channel",
        "mpsc::unbounded",
        "sync::mpsc::channel(",
    ];
    assert_only_in(&[], &words, "unbounded channel");

    // A read to the end must have a size limit.
    let mut found = Vec::new();
    for (name, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        let whole = |line: &str| line.contains("read_to_end(") || line.contains("read_to_string(");
        for (at, line) in code(&name, &text, whole) {
            let near = lines[at.saturating_sub(6)..at].join("\n");
            if !near.contains(".take(") {
                found.push(format!("{name}:{at}: {}", line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "unbounded reads:\n{}", found.join("\n"));
}

#[test]
fn no_unfinished_code() {
    let words = ["todo!(", "unimplemented!(", "FIXME", "XXX"];
    assert_only_in(&[], &words, "unfinished code");
}

/// Returns every Rust file that contains this word, as tokens.
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
fn ignored_tests_have_a_reason() {
    for (name, source) in rust("#[ignore") {
        for (line, reason) in tokens::ignored(&source) {
            let reason = reason.unwrap_or_default();
            assert!(
                REASONS.iter().any(|start| reason.starts_with(start)),
                "{name}:{line}: the reason of an ignored test must start with one of {REASONS:?}"
            );
        }
    }
}

#[test]
fn tests_cannot_pass_without_a_check() {
    let mut found = Vec::new();
    for (name, source) in rust("test") {
        let mut problems = tokens::unchecked_tests(&source);
        if name.contains("/tests/") {
            problems.extend(tokens::environment_returns(&source));
        }
        let problems = problems.into_iter();
        found.extend(problems.map(|(line, why)| format!("{name}:{line}: {why}")));
    }
    assert!(
        found.is_empty(),
        "a test that cannot run must be `#[ignore = \"reason\"]`:\n{}",
        found.join("\n")
    );
}

#[test]
fn no_match_on_bool_and_no_alias_of_own_types() {
    let mut found = Vec::new();
    for (name, source) in rust(" ") {
        let matches = tokens::bool_arms(&source).into_iter();
        found.extend(matches.map(|line| format!("{name}:{line}: match on a bool: use `if`")));
        let aliases = tokens::type_aliases(&source).into_iter();
        found.extend(aliases.map(|(line, alias)| format!("{name}:{line}: {alias}: use the name")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn type_names_have_one_meaning() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in sources() {
        // These types describe types of other crates for the OpenAPI document.
        if file.starts_with("crates/server/src/api/schema/") {
            continue;
        }
        let is_cli = file.starts_with("crates/windlass/src/cli/");
        for found in tokens::type_definitions(&tokens::parse(&file, &text)) {
            // A type of clap has the name of its command.
            let clap = ["Args", "Parser", "Subcommand", "ValueEnum"];
            if !is_cli || !clap.iter().any(|derive| found.derives(derive)) {
                let place = format!("{file}:{}", found.line);
                places.entry(found.name).or_default().push(place);
            }
        }
    }
    places.retain(|_, places| places.len() > 1);
    let shared = SHARED_TYPE_NAMES.iter().flat_map(|(_, names)| *names);
    let stale: Vec<_> = shared
        .filter(|name| places.remove(**name).is_none())
        .collect();
    assert!(
        places.is_empty(),
        "a type name has one meaning: put a noun in front of it, such as ChatLine for Line: {places:#?}"
    );
    assert!(
        stale.is_empty(),
        "remove these names from SHARED_TYPE_NAMES, they have one definition: {stale:?}"
    );
}

#[test]
fn failing_property_cases_are_stored() {
    let disabled = concat!("failure_persistence: ", "None");
    for (name, text) in files() {
        let is_code = name.ends_with(".rs");
        assert!(
            !is_code || !text.contains(disabled),
            "{name}: a failing case must be stored in a file"
        );
    }
}

#[test]
fn modules_have_documentation() {
    for (name, text) in sources() {
        assert!(text.starts_with("//! "), "{name} does not start with //!");
    }
}

#[test]
fn source_files_are_at_most_400_lines() {
    let mut long: Vec<String> = Vec::new();
    for (name, text) in sources() {
        let lines = text.lines().count();
        if lines > 400 {
            long.push(format!("{lines} {name}"));
        }
    }
    assert!(
        long.is_empty(),
        "longer than 400 lines, split them:\n{}",
        long.join("\n")
    );
}

#[test]
fn texts_contain_no_banned_phrases() {
    let mut found = Vec::new();
    for (name, text) in files() {
        let is_source =
            name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs");
        if !is_source && !name.ends_with(".md") {
            continue;
        }
        let text = text.to_lowercase();
        for (phrase, replacement) in BANNED_PHRASES
            .iter()
            .filter(|(phrase, _)| text.contains(phrase))
        {
            let lines = text.lines().enumerate();
            let matching = lines.filter(|(_, line)| contains_phrase(line, phrase));
            found.extend(matching.map(|(at, _)| {
                format!(
                    "{name}:{}: \"{phrase}\": write instead: {replacement}",
                    at + 1
                )
            }));
        }
    }
    assert!(
        found.is_empty(),
        "phrases that are banned (BANNED_PHRASES in tests/tidy.rs):\n{}",
        found.join("\n")
    );
}

/// Returns `true` if the line contains the phrase as whole words.
fn contains_phrase(line: &str, phrase: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(phrase).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + phrase.len()..].chars().next();
        !is_word(before) && !is_word(after)
    })
}

#[test]
fn banned_phrases_match_whole_words() {
    assert!(contains_phrase("// whoever asks", "whoever"));
    assert!(contains_phrase("it is said.", "is said"));
    assert!(!contains_phrase("renew_lease(anew_id)", "anew"));
    assert!(!contains_phrase("this told", "is told"));
}

#[test]
fn crates_are_documented() {
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
fn promises_have_a_test_or_are_marked_as_not_yet_held() {
    let tests: String = files()
        .into_iter()
        .filter(|(name, _)| name.ends_with(".rs"))
        .map(|(_, text)| text)
        .collect();
    let page = read("docs/promises.md");
    for number in 1..=31 {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| P{number} |")))
            .unwrap_or_else(|| panic!("P{number} is not in docs/promises.md"));
        let has_test = tests.contains(&format!("fn p{number}_"));
        let is_open = row.contains("not yet held");
        assert!(
            has_test || is_open,
            "P{number} has no test and is not marked as not yet held"
        );
        assert!(
            has_test || !row.contains("| held"),
            "P{number} is marked as held without a test"
        );
    }
}

#[test]
fn links_between_pages_are_valid() {
    for (name, text) in files() {
        if !name.ends_with(".md") {
            continue;
        }
        let page = root().join(&name);
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let path = link.split('#').next().unwrap_or("");
            if path.is_empty() || link.contains("://") || link.contains(' ') {
                continue;
            }
            assert!(page.with_file_name(path).exists(), "{name} links to {link}");
        }
    }
}

#[test]
fn p28_no_file_contains_machine_paths_or_registries() {
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
