//! Plans from planners that answer in different forms.

use windlass_core::structured::ValidationPolicy;
use windlass_runner::{Plan, PlanError, PlanOptions, get_plan};

use super::sim::agent::{Action, SimAgent};
use super::sim::harness::Harness;

async fn planned(action: Action) -> Result<Plan, PlanError> {
    let harness = Harness::with_actions(&[]);
    let script = std::sync::Arc::new(move |_: usize| action);
    let agent = SimAgent::handle(&harness.repo, script, true, &harness.agent);
    let options = PlanOptions {
        rules: ValidationPolicy {
            rounds: 1,
            ..ValidationPolicy::default()
        },
        ..PlanOptions::default()
    };
    get_plan("sort a list", &agent, options).await
}

#[tokio::test(start_paused = true)]
async fn plan_is_found_in_every_wrapping() {
    for answer in [
        r#"{"plan":["read","write"],"coder_prompt":"do it","tests":["sorted"]}"#,
        "```json\n{\"plan\":[\"read\",\"write\"],\"coder_prompt\":\"do it\",\"tests\":[\"sorted\"]}\n```",
        "Here is my plan:\n{\"plan\":[\"read\",\"write\"],\"coder_prompt\":\"do it\",\"tests\":[\"sorted\"],}\nGood luck!",
        r#"{"plan":"1. read\n2. write","coder_prompt":"do it","tests":"sorted"}"#,
    ] {
        let plan = planned(Action::Answer(answer)).await.unwrap();
        assert_eq!(plan.plan, ["read", "write"], "{answer}");
        assert_eq!(plan.coder_prompt, "do it");
        assert_eq!(plan.tests, ["sorted"]);
    }
}

#[tokio::test(start_paused = true)]
async fn instructed_planner_gets_only_the_task() {
    let harness = Harness::with_actions(&[]);
    let answer = r#"{"plan":["read"],"coder_prompt":"do it","tests":[]}"#;
    let script = std::sync::Arc::new(move |_: usize| Action::Answer(answer));
    let agent = SimAgent::handle(&harness.repo, script, true, &harness.agent);
    for is_instructed in [true, false] {
        let options = PlanOptions {
            is_instructed,
            ..PlanOptions::default()
        };
        get_plan("sort a list", &agent, options).await.unwrap();
    }
    let prompts = harness.agent.lock().unwrap().prompts.clone();
    assert_eq!(prompts[0], "sort a list");
    assert!(
        prompts[1].starts_with(Plan::instructions()),
        "{}",
        prompts[1]
    );
    assert!(
        prompts[1].contains("# Task\n\nsort a list"),
        "{}",
        prompts[1]
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_plan_error_contains_answer() {
    for text in [
        "I cannot do that.",
        "<html><body>Bad gateway</body></html>",
        r#"{"plan":["read"]}"#,
        r#"{"plan":[],"coder_prompt":"do it","tests":[]}"#,
        r#"{"plan":["a"],"coder_prompt":"x","tests":[]} {"plan":["b"],"coder_prompt":"y","tests":[]}"#,
    ] {
        match planned(Action::Answer(text)).await {
            Err(PlanError::Invalid { answer, .. }) => assert_eq!(answer, text),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn unavailable_planner_returns_agent_error() {
    for action in [
        Action::Fail { recoverable: false },
        Action::Hang,
        Action::Panic,
    ] {
        match planned(action).await {
            Err(PlanError::Agent(_)) => {}
            other => panic!("{action:?}: {other:?}"),
        }
    }
}
