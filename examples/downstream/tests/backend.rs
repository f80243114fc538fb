//! The custom backend passes the conformance suite, and runs a scenario.

use downstream::{Answer, TableAgent};
use windlass_core::AgentHandle;
use windlass_testkit::conformance::{self, Action, CaseScript};
use windlass_testkit::scenario::run_scenarios;

/// Creates the agent that a case of the suite needs.
fn agent(script: &CaseScript) -> windlass_core::Result<AgentHandle> {
    let answers = script.turns.iter().map(|turn| {
        let answer = match &turn.act {
            Action::Say(text) | Action::UseTool { say: text, .. } => Answer::Text(text.clone()),
            Action::RecallFirstPrompt => Answer::FirstPrompt,
            Action::SayThenHang(text) => Answer::Hang(text.clone()),
            Action::Hang | Action::HangInTool => Answer::Hang(String::new()),
            _ => Answer::Text(turn.prompt.clone()),
        };
        (turn.prompt.clone(), answer)
    });
    Ok(AgentHandle::wrap(TableAgent::new(answers)))
}

#[tokio::test(start_paused = true)]
async fn custom_backend_passes_the_conformance_suite() {
    let report = conformance::exercise(&agent).await;
    println!("{report}");
    assert!(report.passed(), "{report}");
}

#[tokio::test]
async fn custom_backend_runs_a_scenario() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = r#"{
      "name": "greeting",
      "prompt": "Greet",
      "expected_events": [{ "type": "Result", "contains": "Hello" }]
    }"#;
    std::fs::write(dir.path().join("greeting.json"), scenario).unwrap();
    let answers = [("Greet".to_owned(), Answer::Text("Hello!".to_owned()))];
    let agent = AgentHandle::wrap(TableAgent::new(answers));
    let report = run_scenarios(&agent, dir.path()).await.unwrap();
    assert_eq!(
        (report.passed(), report.failed()),
        (1, 0),
        "{}",
        report.junit()
    );
}
