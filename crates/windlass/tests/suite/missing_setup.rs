//! A project whose tests need a package that is not installed: no agent starts before the set-up is accepted.

use super::task_harness::TaskHarness;

const PACKAGE: &str = r#"{
  "name": "greeter",
  "version": "1.0.0",
  "scripts": { "test": "node --test" },
  "dependencies": { "words": "file:words" }
}
"#;

const LOCK: &str = r#"{
  "name": "greeter",
  "version": "1.0.0",
  "lockfileVersion": 3,
  "requires": true,
  "packages": {
    "": { "name": "greeter", "version": "1.0.0", "dependencies": { "words": "file:words" } },
    "node_modules/words": { "resolved": "words", "link": true },
    "words": { "version": "1.0.0" }
  }
}
"#;

const TEST: &str = "const test = require('node:test');
const assert = require('node:assert');
const words = require('words');

test('greets', () => assert.strictEqual(words.hello, 'hello'));
";

const SCRIPT: &str = r#"{"turns": [
  {"answer": [{"write_file": {"path": "notes.txt", "content": "done\n"}}]},
  {"answer": [{"text": "Done."}]}
]}"#;

#[test]
fn agent_starts_only_after_the_proposed_setup_is_accepted() {
    let harness = TaskHarness::new("true", SCRIPT);
    for dir in ["words", "test"] {
        std::fs::create_dir(harness.project().join(dir)).unwrap();
    }
    harness.file("package.json", PACKAGE);
    harness.file("package-lock.json", LOCK);
    harness.file(
        "words/package.json",
        r#"{ "name": "words", "version": "1.0.0" }"#,
    );
    harness.file("words/index.js", "exports.hello = 'hello';\n");
    harness.file("test/greets.test.js", TEST);
    harness.file(".gitignore", "node_modules/\n");
    harness.git(&["add", "-A"]);
    harness.git(&["commit", "-q", "-m", "Add a dependency"]);
    let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
    let (config, _) = config.split_once("[tests]").unwrap();
    std::fs::write(harness.path("named.toml"), config).unwrap();

    harness.json(&["task", "add", "Write notes", "--json"]);
    let blocked = harness.run(&["worker", "--once"]);
    assert_eq!(blocked.code, 3, "{}{}", blocked.stdout, blocked.stderr);
    let questions = harness.run(&["blockers"]);
    for text in [
        "no agent was started",
        "`npm test` exited with 1",
        "Cannot find module 'words'",
        r#"setup = ["npm", "ci"#,
        "windlass task accept-setup 1",
    ] {
        assert!(
            questions.stdout.contains(text),
            "{text}: {}",
            questions.stdout
        );
    }
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["tests"].as_array().unwrap().len(), 0, "{shown}");

    let accepted = harness.run(&["task", "accept-setup", "1"]);
    assert_eq!(accepted.code, 0, "{}{}", accepted.stdout, accepted.stderr);
    let config = std::fs::read_to_string(harness.path("named.toml")).unwrap();
    assert!(config.contains("[tests]"), "{config}");
    let again = harness.run(&["task", "accept-setup", "1"]);
    assert!(
        again.stderr.contains("has no open question"),
        "{}",
        again.stderr
    );
    let done = harness.run(&["worker", "--once"]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], "completed", "{shown}");
    assert_eq!(shown["task"]["needs_review"], false, "{shown}");
    assert_eq!(shown["proof"]["counts"]["passed"], 1, "{shown}");
}
