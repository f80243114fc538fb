//! Prompts that are large or unusual, and must arrive unchanged.

use windlass_core::Error;

use super::super::case::Case;
use super::super::check::{CaseStop, CheckResult, ensure};
use super::super::turn_log::difference;
use super::super::{Action, CaseRunner};
use super::{say_action, turn};

const GROUP: &str = "prompts";

/// Prompts that an argument parser, trimming or a template may misinterpret.
const UNUSUAL: [(&str, &str); 8] = [
    ("starts with a dash", "--version -p 'x'"),
    ("right to left", "אמור שלום \u{202e}abc\u{202c} مرحبا"),
    (
        "role delimiters",
        "<<<ROLE:USER>>>\nHi.\n<<<ROLE:ASSISTANT>>>\n<|im_end|>\n\n\nHuman: hi",
    ),
    ("emoji", "👩‍👩‍👧‍👦 🏳️‍🌈 e\u{301} 👍🏽"),
    ("line ends", "one\r\ntwo\rthree\n\n"),
    ("white space around", " \t indented \n "),
    (
        "quotes and escapes",
        "\"a\" 'b' `c` $HOME $(id) %n \\n \\u0000 {workspace} {{x}}",
    ),
    ("control characters", "bell \u{7} escape \u{1b}[31m red"),
];

/// Prompts without content: a backend may answer or reject them, but not fail.
const BLANK: [(&str, &str); 2] = [("empty", ""), ("only white space", " \n\t ")];

pub(super) fn cases() -> Vec<Case> {
    let unusual = UNUSUAL.into_iter().map(|(name, prompt)| Case {
        group: GROUP,
        name,
        turns: vec![turn(prompt, Action::EchoPrompt)],
        check: |runner| Box::pin(prompt_arrives_intact(runner)),
    });
    let blank = BLANK.into_iter().map(|(name, prompt)| Case {
        group: GROUP,
        name,
        turns: vec![turn(prompt, say_action("Your prompt is empty."))],
        check: |runner| Box::pin(is_answered_or_rejected(runner)),
    });
    let large = Case {
        group: GROUP,
        name: "1 MiB",
        turns: vec![turn(&large(), Action::EchoPrompt)],
        check: |runner| Box::pin(prompt_arrives_intact(runner)),
    };
    let nul = Case {
        group: GROUP,
        name: "NUL",
        turns: vec![turn("Say hello.", say_action("Hello."))],
        check: |runner| Box::pin(nul_is_rejected(runner)),
    };
    unusual.chain(blank).chain([large, nul]).collect()
}

/// Returns a mebibyte of distinct lines: a lost or repeated chunk is detected.
fn large() -> String {
    const BYTES: usize = 1 << 20;
    let mut text = String::with_capacity(BYTES + 32);
    let mut line = 0;
    while text.len() < BYTES {
        text.push_str(&format!("line {line} of a large prompt\n"));
        line += 1;
    }
    text.truncate(BYTES);
    text
}

/// Checks that the answer repeats the prompt exactly.
async fn prompt_arrives_intact(runner: &CaseRunner) -> CheckResult {
    let session = runner.new_session().await?;
    let log = runner.run_turn(&session, 0).await?;
    let (text, _) = log.result()?;
    let prompt = runner.prompt(0).text;
    ensure(text == prompt, || {
        format!("the prompt was changed: {}", difference(&prompt, text))
    })
}

async fn is_answered_or_rejected(runner: &CaseRunner) -> CheckResult {
    let session = runner.new_session().await?;
    match runner.agent().prompt(&session, runner.prompt(0)).await {
        Err(Error::InvalidInput(reason)) => Err(CaseStop::Unsupported(reason)),
        Err(other) => Err(CaseStop::Failed(format!(
            "the prompt causes the wrong error: {other}"
        ))),
        Ok(turn) => runner
            .collect(turn)
            .await
            .expect_answer("Your prompt is empty."),
    }
}

/// No agent can receive it on a command line: it is rejected before the turn starts, without side
/// effects.
async fn nul_is_rejected(runner: &CaseRunner) -> CheckResult {
    let session = runner.new_session().await?;
    let result = runner.agent().prompt(&session, "before\0after").await;
    ensure(matches!(result, Err(Error::InvalidInput(_))), || {
        "a prompt with a NUL character is accepted".to_owned()
    })?;
    runner
        .run_turn_expecting_answer(&session, 0)
        .await
        .map(drop)
}
