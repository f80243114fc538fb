//! The events of a turn: their grammar, their text, their tools, what they cost.

use super::super::case::{Case, CaseStop, CheckResult, ensure};
use super::super::turn_log::difference;
use super::super::{Action, CaseRunner};
use super::{say_action, turn};

const ANSWER: &str = "First this. Then that.\nAnd at last, this: ünïcödé 👍.";

pub(super) fn cases() -> Vec<Case> {
    let use_tool = |succeeds| Action::UseTool {
        succeeds,
        say: "The tool has run.".to_owned(),
    };
    vec![
        Case {
            group: "events",
            name: "grammar",
            scenes: vec![turn("Say something.", say_action(ANSWER))],
            check: |trial| Box::pin(grammar(trial)),
        },
        Case {
            group: "events",
            name: "text in pieces",
            scenes: vec![turn("Say something.", say_action(ANSWER))],
            check: |trial| Box::pin(text_in_pieces(trial)),
        },
        Case {
            group: "tools",
            name: "paired",
            scenes: vec![turn("Use a tool.", use_tool(true))],
            check: |trial| Box::pin(tools(trial, true)),
        },
        Case {
            group: "tools",
            name: "failing",
            scenes: vec![turn("Use a tool that fails.", use_tool(false))],
            check: |trial| Box::pin(tools(trial, false)),
        },
        Case {
            group: "usage",
            name: "per turn",
            scenes: vec![
                turn("Say it.", say_action("It.")),
                turn("Say it again.", say_action("It.")),
                turn("And again.", say_action("It.")),
            ],
            check: |trial| Box::pin(usage(trial)),
        },
    ]
}

async fn grammar(trial: &CaseRunner) -> CheckResult {
    let session = trial.new_session().await?;
    let told = trial.run_turn(&session, 0).await?;
    told.check_grammar()?;
    told.expect_answer(ANSWER)
}

async fn text_in_pieces(trial: &CaseRunner) -> CheckResult {
    trial.require_capability(|can| can.streaming, "write its answer in pieces")?;
    let session = trial.new_session().await?;
    let told = trial.run_turn_expecting_answer(&session, 0).await?;
    let text = told.text();
    ensure(text == ANSWER, || {
        format!(
            "the pieces do not make the answer: {}",
            difference(ANSWER, &text)
        )
    })
}

async fn tools(trial: &CaseRunner, succeeding: bool) -> CheckResult {
    trial.require_capability(|can| can.tools, "report tools")?;
    let session = trial.new_session().await?;
    let told = trial.run_turn_expecting_answer(&session, 0).await?;
    told.check_grammar()?;
    told.check_tools(succeeding)
}

/// Three turns that cost the same: a running total would double, and a last turn alone would not show it.
async fn usage(trial: &CaseRunner) -> CheckResult {
    trial.require_capability(|can| can.usage, "count tokens")?;
    let session = trial.new_session().await?;
    let mut before = None;
    for scene in 0..3 {
        let told = trial.run_turn_expecting_answer(&session, scene).await?;
        let (_, usage) = told.result()?;
        let Some(usage) = usage else {
            return Err(CaseStop::Failed(
                "the result does not say what the turn consumed".to_owned(),
            ));
        };
        ensure(usage.output_tokens > 0, || {
            "a turn that says something wrote 0 tokens".to_owned()
        })?;
        if trial.agent().capabilities().cost {
            ensure(usage.cost_usd.is_some(), || {
                "the result does not say what it cost".to_owned()
            })?;
        }
        let first = *before.get_or_insert(usage.output_tokens);
        ensure(usage.output_tokens < 2 * first, || {
            let now = usage.output_tokens;
            format!(
                "turn {} wrote {now} tokens, as much as turns before it together",
                scene + 1
            )
        })?;
    }
    Ok(())
}
