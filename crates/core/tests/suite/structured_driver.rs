//! Structured calls that a caller drives with its own turns.

use windlass_core::structured::{Round, StructuredCall, TurnFailure, TurnRunner, ValidationPolicy};
use windlass_core::{AgentEvent, Error, ErrorCode, SchemaMode};

use super::structured::task;

/// Plays these turns in order.
struct Turns {
    turns: Vec<Result<&'static str, TurnFailure<&'static str>>>,
    prompts: Vec<String>,
}

impl TurnRunner for Turns {
    type Stop = &'static str;

    async fn run_turn(&mut self, round: &mut Round<'_>) -> Result<(), TurnFailure<&'static str>> {
        self.prompts.push(round.prompt().to_owned());
        round.on_event(&AgentEvent::result(self.turns.remove(0)?));
        Ok(())
    }
}

fn turns(turns: Vec<Result<&'static str, TurnFailure<&'static str>>>) -> Turns {
    Turns {
        turns,
        prompts: Vec::new(),
    }
}

fn call() -> StructuredCall {
    StructuredCall::new(task(SchemaMode::None), ValidationPolicy::default()).unwrap()
}

#[tokio::test]
async fn each_turn_gets_the_prompt_of_its_round() {
    let mut turns = turns(vec![Ok("no"), Ok(r#"{"name": "Ada", "age": 36}"#)]);
    let answer = call().run(&mut turns).await.unwrap().unwrap();
    assert_eq!(answer.rounds, 2);
    assert_eq!(turns.prompts[0], "Who is Ada?");
    assert!(turns.prompts[1].contains("It contains no JSON."));
}

#[tokio::test]
async fn the_callers_reason_to_stop_is_returned_unchanged() {
    let mut turns = turns(vec![Ok("no"), Err(TurnFailure::Stopped("gone"))]);
    assert_eq!(call().run(&mut turns).await.unwrap_err(), "gone");
}

#[tokio::test]
async fn a_failure_of_the_agent_is_the_failure_of_the_call() {
    let failure = Error::agent(ErrorCode::RateLimited, "slow down");
    let mut turns = turns(vec![Ok("no"), Err(failure.clone().into())]);
    let error = call().run(&mut turns).await.unwrap().unwrap_err();
    assert_eq!(error.code(), ErrorCode::RateLimited);
    assert_eq!(*error.kind, failure.into());
    assert_eq!(error.rounds, 1);
}
