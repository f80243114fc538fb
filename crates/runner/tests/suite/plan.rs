//! Plans from planners of every temper.

use windlass_core::structured::ValidationPolicy;
use windlass_runner::{Plan, PlanError, PlanOptions, get_plan};

use super::sim::agent::{Act, SimAgent};
use super::sim::world::World;

async fn planned(said: Act) -> Result<Plan, PlanError> {
    let world = World::calm(&[]);
    let script = std::sync::Arc::new(move |_: usize| said);
    let agent = SimAgent::handle(&world.repo, script, true, &world.agent);
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
async fn a_plan_is_found_in_whatever_the_planner_wraps_it_in() {
    for said in [
        r#"{"plan":["read","write"],"coder_prompt":"do it","tests":["sorted"]}"#,
        "```json\n{\"plan\":[\"read\",\"write\"],\"coder_prompt\":\"do it\",\"tests\":[\"sorted\"]}\n```",
        "Here is my plan:\n{\"plan\":[\"read\",\"write\"],\"coder_prompt\":\"do it\",\"tests\":[\"sorted\"],}\nGood luck!",
        r#"{"plan":"1. read\n2. write","coder_prompt":"do it","tests":"sorted"}"#,
    ] {
        let plan = planned(Act::Say(said)).await.unwrap();
        assert_eq!(plan.plan, ["read", "write"], "{said}");
        assert_eq!(plan.coder_prompt, "do it");
        assert_eq!(plan.tests, ["sorted"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_planner_that_has_its_instructions_is_told_the_task_alone() {
    let world = World::calm(&[]);
    let said = r#"{"plan":["read"],"coder_prompt":"do it","tests":[]}"#;
    let script = std::sync::Arc::new(move |_: usize| Act::Say(said));
    let agent = SimAgent::handle(&world.repo, script, true, &world.agent);
    for is_instructed in [true, false] {
        let options = PlanOptions {
            is_instructed,
            ..PlanOptions::default()
        };
        get_plan("sort a list", &agent, options).await.unwrap();
    }
    let told = world.agent.lock().unwrap().prompts.clone();
    assert_eq!(told[0], "sort a list");
    assert!(told[1].starts_with(Plan::instructions()), "{}", told[1]);
    assert!(told[1].contains("# Task\n\nsort a list"), "{}", told[1]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_plan_is_shown() {
    for said in [
        "I cannot do that.",
        "<html><body>Bad gateway</body></html>",
        r#"{"plan":["read"]}"#,
        r#"{"plan":[],"coder_prompt":"do it","tests":[]}"#,
        r#"{"plan":["a"],"coder_prompt":"x","tests":[]} {"plan":["b"],"coder_prompt":"y","tests":[]}"#,
    ] {
        match planned(Act::Say(said)).await {
            Err(PlanError::Invalid { answer, .. }) => assert_eq!(answer, said),
            other => panic!("{said}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_planner_that_is_away_is_another_error() {
    for said in [Act::Fail { recoverable: false }, Act::Hang, Act::Panic] {
        match planned(said).await {
            Err(PlanError::Agent(_)) => {}
            other => panic!("{said:?}: {other:?}"),
        }
    }
}
