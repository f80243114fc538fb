//! The events of a turn: grammar, text, tools and usage.

use super::super::case::Case;
use super::super::check::{CaseStop, CheckResult, ensure};
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
            turns: vec![turn("Say something.", say_action(ANSWER))],
            check: |runner| Box::pin(grammar(runner)),
        },
        Case {
            group: "events",
            name: "streamed text",
            turns: vec![turn("Say something.", say_action(ANSWER))],
            check: |runner| Box::pin(streamed_text(runner)),
        },
        Case {
            group: "tools",
            name: "paired",
            turns: vec![turn("Use a tool.", use_tool(true))],
            check: |runner| Box::pin(tools(runner, true)),
        },
        Case {
            group: "tools",
            name: "failing",
            turns: vec![turn("Use a tool that fails.", use_tool(false))],
            check: |runner| Box::pin(tools(runner, false)),
        },
        Case {
            group: "usage",
            name: "per turn",
            turns: vec![
                turn("Say it.", say_action("It.")),
                turn("Say it again.", say_action("It.")),
                turn("And again.", say_action("It.")),
            ],
            check: |runner| Box::pin(usage(runner)),
        },
    ]
}

async fn grammar(runner: &CaseRunner) -> CheckResult {
    let session = runner.new_session().await?;
    let log = runner.run_turn(&session, 0).await?;
    log.check_grammar()?;
    log.expect_answer(ANSWER)
}

async fn streamed_text(runner: &CaseRunner) -> CheckResult {
    runner.require_capability(|can| can.streaming, "stream its answer")?;
    let session = runner.new_session().await?;
    let log = runner.run_turn_expecting_answer(&session, 0).await?;
    let text = log.text();
    ensure(text == ANSWER, || {
        format!(
            "the text chunks do not add up to the answer: {}",
            difference(ANSWER, &text)
        )
    })
}

async fn tools(runner: &CaseRunner, succeeding: bool) -> CheckResult {
    runner.require_capability(|can| can.tools, "report tools")?;
    let session = runner.new_session().await?;
    let log = runner.run_turn_expecting_answer(&session, 0).await?;
    log.check_grammar()?;
    log.check_tools(succeeding)
}

/// Runs three turns with the same usage: a running total would double. The last turn alone would
/// not show it.
async fn usage(runner: &CaseRunner) -> CheckResult {
    runner.require_capability(|can| can.usage, "count tokens")?;
    let session = runner.new_session().await?;
    let mut before = None;
    for turn in 0..3 {
        let log = runner.run_turn_expecting_answer(&session, turn).await?;
        let (_, usage) = log.result()?;
        let Some(usage) = usage else {
            return Err(CaseStop::Failed("the result has no usage".to_owned()));
        };
        ensure(usage.output_tokens > 0, || {
            "a turn with an answer reports 0 output tokens".to_owned()
        })?;
        if runner.agent().capabilities().cost {
            ensure(usage.cost_usd.is_some(), || {
                "the result has no cost".to_owned()
            })?;
        }
        let first = *before.get_or_insert(usage.output_tokens);
        ensure(usage.output_tokens < 2 * first, || {
            let tokens = usage.output_tokens;
            format!(
                "turn {} reports {tokens} output tokens, as many as all earlier turns together",
                turn + 1
            )
        })?;
    }
    Ok(())
}
