//! `windlass review`: comments, requested changes, the next version, approval, editors and reviewing agents.

use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

use super::cli_harness::Run;
use super::task_harness::TaskHarness;

const FIRST: &str = r#"{"turns": [
  {"answer": [{"write_file": {"path": "done.txt", "content": "first\n"}}]},
  {"answer": [{"text": "Done."}]}
]}"#;

/// Answers only a prompt that has the comment, its file, its line and the text of the line.
const SECOND: &str = r#"{"turns": [
  {"when": {"contains": "done.txt, line 1: `first`\n\n> Say second, too.\n"},
   "answer": [{"edit_file": {"path": "done.txt", "old": "first", "new": "first\nsecond"}}]},
  {"when": {"turn": 2}, "answer": [{"text": "Done."}]}
]}"#;

/// A project with one completed task.
fn completed(test: &str) -> TaskHarness {
    let harness = TaskHarness::new(test, FIRST);
    harness.json(&["task", "add", "Do it", "--attempts", "1", "--json"]);
    work(&harness);
    harness
}

#[track_caller]
fn work(harness: &TaskHarness) {
    let worker = harness.run(&["worker", "--once"]);
    let log = harness.run(&["task", "log", "1"]).stdout;
    assert_eq!(worker.code, 0, "{}{}{log}", worker.stdout, worker.stderr);
}

fn task(harness: &TaskHarness) -> Value {
    harness.json(&["task", "show", "1", "--json"])["task"].clone()
}

#[track_caller]
fn refused(run: &Run, why: &str) {
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains(why), "{why}: {}", run.stderr);
    assert_eq!(run.stderr.trim_end().lines().count(), 1, "{}", run.stderr);
}

#[test]
fn requested_changes_are_in_the_next_version() {
    let harness = completed("grep -q first done.txt");
    let first_proof = harness.json(&["task", "show", "1", "--json"])["proof"].clone();
    let review = harness.json(&[
        "review",
        "1",
        "--request-changes",
        "-m",
        "Nearly.",
        "--comment",
        "done.txt:1=Say second, too.",
        "--json",
    ]);
    assert_eq!(review["task"]["status"], "pending", "{review}");
    assert_eq!(review["review"]["attempt"], 1, "{review}");
    assert_eq!(review["review"]["author_kind"], "person", "{review}");
    assert_eq!(review["review"]["comments"][0]["quote"], "first");

    std::fs::write(harness.path("script.json"), SECOND).unwrap();
    work(&harness);
    let now = task(&harness);
    assert_eq!(now["status"], "completed", "{now}");
    assert_eq!(now["review"], json!(null), "a new version has no decision");
    let between = harness
        .run(&["task", "diff", "1", "--between", "1..2"])
        .stdout;
    assert!(between.contains("+second"), "{between}");
    assert!(!between.contains("+first"), "{between}");
    let whole = harness.run(&["task", "diff", "1"]).stdout;
    assert!(
        whole.contains("+first") && whole.contains("+second"),
        "{whole}"
    );
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_ne!(shown["proof"]["commit"], first_proof["commit"], "{shown}");
    assert_eq!(shown["attempts"][0]["commit"], first_proof["commit"]);

    // A version is approved only by a person who looked at it.
    let late = harness.run(&["review", "1", "--approve", "--attempt", "1"]);
    refused(&late, "look at version 2");
    assert_eq!(task(&harness)["review"], json!(null));
    let approved = harness.run(&["review", "1", "--approve", "--attempt", "2"]);
    assert_eq!(approved.code, 0, "{}", approved.stderr);
    assert!(approved.stdout.contains("approved version 2 of task 1"));
    assert_eq!(task(&harness)["review"], "approve");
    let landing = harness.json(&["review", "1", "--land", "--json"]);
    assert_eq!(landing["task"]["land"], true, "{landing}");
    let shown = harness.run(&["review", "1", "--show"]).stdout;
    for text in ["requested changes of version 1", "done.txt:1", "Nearly."] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}

#[test]
fn impossible_reviews_are_refused_in_one_sentence() {
    let harness = completed("true");
    let comment = |place: &str| harness.run(&["review", "1", "--comment", place]);
    refused(&comment("done.txt:9=x"), "line 9 of done.txt (new side)");
    refused(&comment("other.txt:1=x"), "does not contain other.txt");
    refused(&comment("done.txt:1"), "PATH:LINE=TEXT");
    refused(&harness.run(&["review", "1", "--request-changes"]), "empty");
    refused(
        &harness.run(&["review", "2", "--approve"]),
        "there is no task 2",
    );
    refused(&harness.run(&["review", "1"]), "set VISUAL or EDITOR");
    let versions = harness.run(&["task", "diff", "1", "--between", "1..4"]);
    refused(&versions, "task 1 has no attempt 4");
    assert_eq!(
        harness.json(&["review", "1", "--show", "--json"]),
        json!([])
    );
    harness.json(&["task", "add", "Not done", "--json"]);
    refused(
        &harness.run(&["review", "2", "--approve"]),
        "no change to review",
    );
}

/// Runs `windlass review 1` with an editor that runs this shell script on the file `$1`.
fn edit(harness: &TaskHarness, script: &str) -> Run {
    let file = harness.path("editor.sh");
    std::fs::write(&file, script).unwrap();
    let mut command: Command = harness.command();
    command
        .env("EDITOR", format!("sh '{}'", file.display()))
        .args(["review", "1"]);
    Run::of(&mut command)
}

/// Returns the path that an error names.
fn kept_file(run: &Run) -> String {
    let (_, path) = run.stderr.split_once("your text is in ").unwrap();
    path.trim().to_owned()
}

#[test]
fn review_is_written_in_an_editor_and_never_lost() {
    let harness = completed("true");
    refused(&edit(&harness, "true"), "the file was not changed");

    let comment = "sed -i 's/^+first$/&\\n#> Why\\x1b[31m?/' \"$1\"";
    let failed = edit(&harness, &format!("{comment}; exit 3"));
    refused(&failed, "nothing was submitted");
    let file = kept_file(&failed);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("+first\n#> Why"), "{text}");
    assert!(
        text.starts_with("# Review of task 1, version 1: Do it\n"),
        "{text}"
    );

    // The next try begins with the text.
    let broken = edit(&harness, "echo 'A line without a mark.' >> \"$1\"");
    refused(&broken, "is not a line of the diff");
    assert_eq!(kept_file(&broken), file);
    assert_eq!(
        harness.json(&["review", "1", "--show", "--json"]),
        json!([])
    );

    let script = "sed -i '$d; s/^decision: .*/decision: request_changes/' \"$1\"";
    let done = edit(&harness, script);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    assert!(!Path::new(&file).exists());
    let stored = harness.json(&["review", "1", "--show", "--json"]);
    assert_eq!(stored[0]["decision"], "request_changes", "{stored}");
    assert_eq!(stored[0]["comments"][0]["line"], 1, "{stored}");
    assert_eq!(stored[0]["comments"][0]["text"], "Why\u{1b}[31m?");
    assert_eq!(task(&harness)["status"], "pending");
    let shown = harness.run(&["review", "1", "--show"]).stdout;
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

/// Adds a mock that gives this answer to a request for a review.
fn reviewer(harness: &TaskHarness, answer: &Value) {
    let script = json!({"turns": [{
        "when": {"contains": "You review a change"},
        "or_more": true,
        "answer": [{"text": answer.to_string()}],
    }]});
    std::fs::write(harness.path("critic.json"), script.to_string()).unwrap();
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let critic = harness.path("critic.json");
    let config = format!("{config}[agents.critic]\nbackend = \"mock\"\nscript = {critic:?}\n");
    std::fs::write(&file, config).unwrap();
}

fn finding() -> Value {
    json!({
        "verdict": "request_changes",
        "summary": "Too little.",
        "comments": [{"path": "done.txt", "line": 1, "text": "Say second, too."}],
    })
}

#[test]
fn reviewing_agent_comments_under_its_name_and_never_approves() {
    let harness = completed("true");
    reviewer(&harness, &finding());
    let reviewed = harness.json(&["review", "1", "--reviewer", "critic", "--json"]);
    let review = &reviewed["review"];
    assert_eq!(review["author"], "critic", "{review}");
    assert_eq!(review["author_kind"], "agent", "{review}");
    assert_eq!(review["decision"], "request_changes", "{review}");
    assert_eq!(review["comments"][0]["quote"], "first", "{review}");
    assert_eq!(reviewed["task"]["status"], "pending");
    assert_eq!(harness.git(&["status", "--porcelain"]), "");

    std::fs::write(harness.path("script.json"), SECOND).unwrap();
    work(&harness);
    reviewer_answers(
        &harness,
        &json!({"verdict": "approve", "summary": "Good.", "comments": []}),
    );
    let refused = harness.run(&["review", "1", "--reviewer", "critic"]);
    assert_eq!(refused.code, 1, "{}{}", refused.stdout, refused.stderr);
    assert_eq!(task(&harness)["review"], json!(null));
}

fn reviewer_answers(harness: &TaskHarness, answer: &Value) {
    let script = json!({"turns": [{"or_more": true, "answer": [{"text": answer.to_string()}]}]});
    std::fs::write(harness.path("critic.json"), script.to_string()).unwrap();
}

/// An agent that is never content does not keep the task in a loop.
#[test]
fn automatic_review_sends_a_change_back_a_limited_number_of_times() {
    let script = r#"{"turns": [
      {"when": {"turn": 1}, "or_more": true, "answer": [{"shell": {"command": "echo first >> done.txt"}}]},
      {"or_more": true, "answer": [{"text": "Done."}]}
    ]}"#;
    let harness = TaskHarness::new("true", script);
    reviewer(&harness, &finding());
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{config}[review]\nagent = \"critic\"\n")).unwrap();
    harness.json(&["task", "add", "Do it", "--json"]);
    work(&harness);
    let reviews = harness.json(&["review", "1", "--show", "--json"]);
    let decisions: Vec<&Value> = reviews
        .as_array()
        .unwrap()
        .iter()
        .map(|review| &review["decision"])
        .collect();
    let wanted = ["request_changes", "request_changes", "comment"];
    assert_eq!(decisions, wanted, "{reviews}");
    let now = task(&harness);
    assert_eq!(now["status"], "completed", "{now}");
    assert_eq!(now["attempt"], 3, "{now}");
}
