//! `windlass chat` on a terminal, with an agent that plays a script.

use super::task_harness::TaskHarness;
use super::tmux::Tmux;

const SCRIPT: &str = r##"{"turns": [
  {"when": {"contains": "Explain"}, "answer": [{"text": "# Greeting\n\nThe script **greets** by name, as `greet.sh Ann` shows, and this sentence is long enough to be wrapped on every terminal of the tests:\n\n- one\n- two\n\n```sh\nsh greet.sh Ann\n```\nThat is all."}]},
  {"when": {"contains": "Change"}, "answer": [{"edit_file": {"path": "greet.sh", "old": "echo \"Hello, $1!\"", "new": "echo \"Hello, ${1:-World}!\""}}, {"shell": {"command": "sh greet.sh"}}]},
  {"when": {"contains": "Wait"}, "answer": [{"text": "I am "}, {"wait_ms": 600000}, {"text": "never done"}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"##;

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn conversation(columns: u32) {
    let harness = TaskHarness::new("true", SCRIPT);
    let tmux = Tmux::chat(&harness, SYSTEM_PATH, columns, &[]);
    tmux.wait_for_prompt("player");
    tmux.line("Explain it");
    tmux.wait_for("That is all.", 1);
    tmux.wait_for_prompt("player");
    tmux.line("Change it");
    tmux.wait_for("(/diff last, /undo)", 1);
    tmux.wait_for_prompt("player");
    tmux.line("Wait");
    tmux.wait_for("I am", 1);
    tmux.key("C-c");
    tmux.wait_for("stopped", 1);
    tmux.wait_for_prompt("player");
    tmux.line("/undo");
    tmux.wait_for("restored 1 file", 1);
    assert_eq!(harness.read("greet.sh"), "echo \"Hello, $1!\"\n");
    // Earlier prompts can be edited: the cursor goes up, and to the start of the line.
    tmux.key("Up");
    tmux.key("Up");
    tmux.key("C-a");
    tmux.key("C-k");
    tmux.line("/diff last");
    tmux.wait_for("no turn of this conversation changed files", 1);
    tmux.key("C-c");
    tmux.wait_for("leaves the chat", 1);
    tmux.wait_for_prompt("player");
    tmux.key("C-d");
    tmux.wait_for("resume with", 1);
    let screen = tmux.normalized();
    for text in [
        "Greeting",
        "• two",
        "  sh greet.sh Ann",
        "resume with: windlass chat --session ID",
    ] {
        assert!(screen.contains(text), "{text:?}:\n{screen}");
    }
}

#[test]
fn conversation_fits_60_columns() {
    conversation(60);
}

#[test]
fn conversation_fits_120_columns() {
    conversation(120);
}

#[test]
fn plain_mode_has_no_escape_sequences() {
    let harness = TaskHarness::new("true", SCRIPT);
    let tmux = Tmux::chat(&harness, SYSTEM_PATH, 80, &["--plain"]);
    tmux.wait_for_prompt("player");
    tmux.line("Explain it");
    tmux.wait_for("That is all.", 1);
    tmux.wait_for_prompt("player");
    assert!(tmux.screen().contains("**greets**"), "{}", tmux.screen());
}

#[test]
fn conversation_is_chosen_from_a_list() {
    let harness = TaskHarness::new("true", SCRIPT);
    let first = Tmux::chat(&harness, SYSTEM_PATH, 80, &["Explain it"]);
    first.wait_for("That is all.", 1);
    first.wait_for_prompt("player");
    first.key("C-d");
    first.wait_for("resume with", 1);
    let second = Tmux::chat(&harness, SYSTEM_PATH, 80, &["--resume"]);
    second.wait_for("1-1 ›", 1);
    second.line("1");
    second.wait_for_prompt("player");
    let screen = second.screen();
    assert!(screen.contains("› Explain it"), "{screen}");
    assert!(screen.contains("That is all."), "{screen}");
}
