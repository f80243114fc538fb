//! Proofs as documents: text, JSON, signed statements, and the review of a proof with warnings.

use assert_cmd::Command;
use serde_json::{Value, json};

use super::task_harness::TaskHarness;

const TEST: &str =
    "[ -f tests/all.sh ] && sh tests/all.sh && echo '1 passed, 0 failed' || test -f done.txt";

/// A script that writes a file and ends.
const HONEST: &str = super::task_harness::INSTANT;

/// A script that deletes the tests.
const HOSTILE: &str = r#"{"turns": [
  {"answer": [{"write_file": {"path": "done.txt", "content": "done\n"}},
              {"write_file": {"path": "tests/all.sh", "content": ""}}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

fn completed(script: &str) -> TaskHarness {
    let harness = TaskHarness::new(TEST, script);
    std::fs::create_dir(harness.project().join("tests")).unwrap();
    harness.file("tests/all.sh", "test -f done.txt\n");
    harness.git(&["config", "user.name", "Ada"]);
    harness.git(&["config", "user.email", "ada@example.org"]);
    harness.git(&["add", "-A"]);
    harness.git(&["commit", "-q", "-m", "Add a test"]);
    harness.json(&["task", "add", "Do it", "--json"]);
    let run = harness.run(&["worker", "--once"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let needs_review = run.stderr.contains("task 1 needs review");
    assert_eq!(needs_review, script == HOSTILE, "{}", run.stderr);
    harness
}

/// Creates an ssh key in the home directory, and a list that names its owner.
fn key(harness: &TaskHarness, name: &str) {
    let dir = harness.home().join(".ssh");
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join(name);
    let mut keygen = Command::new("ssh-keygen");
    keygen
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&file);
    keygen.assert().success();
    let public = std::fs::read_to_string(file.with_extension("pub")).unwrap();
    let line = format!("ada@example.org {public}");
    std::fs::write(harness.path(&format!("{name}.signers")), line).unwrap();
}

/// Signs the proof of task 1, and returns it.
fn signed(harness: &TaskHarness) -> Value {
    harness.json(&["proof", "1", "--sign"])
}

fn verify(harness: &TaskHarness, file: &Value, flags: &[&str]) -> (i32, Value) {
    std::fs::write(harness.path("proof.json"), file.to_string()).unwrap();
    let path = harness.path("proof.json");
    let mut args = vec!["verify", path.to_str().unwrap(), "--json"];
    args.extend(flags);
    let run = harness.run(&args);
    (run.code, serde_json::from_str(&run.stdout).unwrap())
}

#[test]
fn commit_has_the_user_as_author_and_the_agent_as_co_author() {
    let harness = completed(HONEST);
    let branch = harness.json(&["task", "show", "1", "--json"])["task"]["branch"].clone();
    let branch = branch.as_str().unwrap();
    let author = harness.git(&["log", "-1", "--format=%an <%ae>", branch]);
    assert_eq!(author.trim(), "Ada <ada@example.org>");
    let message = harness.git(&["log", "-1", "--format=%B", branch]);
    assert!(
        message.contains("Co-authored-by: player <player@agents.invalid>"),
        "{message}"
    );
    assert!(
        message.contains("Windlass-Proof: task-1/attempt-1"),
        "{message}"
    );
}

#[test]
fn signed_statement_is_verified_offline() {
    let harness = completed(HONEST);
    key(&harness, "id_ed25519");
    let statement = harness.json(&["proof", "1", "--in-toto"]);
    let proof = harness.json(&["proof", "1", "--json"]);
    assert_eq!(
        statement["subject"][0]["digest"]["gitCommit"],
        proof["commit"]
    );
    assert_eq!(statement["predicate"]["result"], "PASSED");

    let file = signed(&harness);
    let signers = harness.path("id_ed25519.signers");
    let signers = ["--allowed-signers", signers.to_str().unwrap()];
    let (code, verified) = verify(&harness, &file, &signers);
    assert_eq!((code, &verified["valid"]), (0, &json!(true)), "{verified}");
    assert!(
        verified["notes"]
            .to_string()
            .contains("signed by ada@example.org")
    );

    let (code, unknown) = verify(&harness, &file, &[]);
    assert_eq!(code, 1, "{unknown}");
    assert!(
        unknown["differences"]
            .to_string()
            .contains("not in the list")
    );
}

#[test]
fn changed_signed_statement_is_refused() {
    let harness = completed(HONEST);
    key(&harness, "id_ed25519");
    let signers = harness.path("id_ed25519.signers");
    let signers = ["--allowed-signers", signers.to_str().unwrap()];
    let mut file = signed(&harness);
    let other = harness.json(&["proof", "1", "--in-toto"]);
    let text = other.to_string().replace("\"counts\"", "\"counts\" ");
    file["payload"] = json!(base64(text.as_bytes()));
    let (code, refused) = verify(&harness, &file, &signers);
    assert_eq!(code, 1, "{refused}");
    assert!(refused["differences"].to_string().contains("bad signature"));
}

#[test]
fn statement_without_signature_needs_a_flag() {
    let harness = completed(HONEST);
    let statement = harness.json(&["proof", "1", "--in-toto"]);
    assert_eq!(verify(&harness, &statement, &[]).0, 1);
    assert_eq!(verify(&harness, &statement, &["--allow-unsigned"]).0, 0);
    let mut contradictory = statement;
    contradictory["subject"][0]["digest"]["gitCommit"] = json!("0".repeat(40));
    let (code, refused) = verify(&harness, &contradictory, &["--allow-unsigned"]);
    assert_eq!(code, 1, "{refused}");
}

#[test]
fn file_that_is_no_proof_is_refused_with_one_sentence() {
    let harness = completed(HONEST);
    harness.file("x.json", "{}");
    let run = harness.run(&["verify", "x.json"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("not a proof file"), "{}", run.stderr);
    let run = harness.run(&["verify", "missing.json"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn task_with_warnings_is_merged_only_if_they_are_accepted() {
    let harness = completed(HOSTILE);
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["needs_review"], true, "{shown}");
    let text = harness.run(&["task", "show", "1"]).stdout;
    assert!(text.contains("completed (needs review)"), "{text}");

    let run = harness.run(&["task", "merge", "1"]);
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("warning"), "{}", run.stdout);
    assert!(run.stderr.contains("--accept"), "{}", run.stderr);
    assert!(!harness.project().join("done.txt").exists());

    let merged = harness.json(&["task", "merge", "1", "--accept", "--json"]);
    assert_eq!(merged["status"], "merged", "{merged}");
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["needs_review"], false);
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
