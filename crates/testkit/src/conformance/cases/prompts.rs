//! Prompts that are large or odd, and must arrive as they are.

use windlass_core::Error;

use super::super::case::{Case, CaseStop, CheckResult, ensure};
use super::super::turn_log::difference;
use super::super::{Action, CaseRunner};
use super::{say_action, turn};

const GROUP: &str = "prompts";

/// Prompts that somebody's argument parser, trimming or template may mistake for something else.
const ODD: [(&str, &str); 8] = [
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

/// Prompts that hold nothing: a backend may answer them or refuse them, but not fail.
const NOTHING: [(&str, &str); 2] = [("empty", ""), ("only white space", " \n\t ")];

pub(super) fn cases() -> Vec<Case> {
    let odd = ODD.into_iter().map(|(name, prompt)| Case {
        group: GROUP,
        name,
        scenes: vec![turn(prompt, Action::EchoPrompt)],
        check: |trial| Box::pin(prompt_arrives_intact(trial)),
    });
    let nothing = NOTHING.into_iter().map(|(name, prompt)| Case {
        group: GROUP,
        name,
        scenes: vec![turn(prompt, say_action("You said nothing."))],
        check: |trial| Box::pin(answered_or_refused(trial)),
    });
    let large = Case {
        group: GROUP,
        name: "1 MiB",
        scenes: vec![turn(&large(), Action::EchoPrompt)],
        check: |trial| Box::pin(prompt_arrives_intact(trial)),
    };
    let nul = Case {
        group: GROUP,
        name: "NUL",
        scenes: vec![turn("Say hello.", say_action("Hello."))],
        check: |trial| Box::pin(nul_is_refused(trial)),
    };
    odd.chain(nothing).chain([large, nul]).collect()
}

/// A mebibyte of lines that are all different: a piece that is lost or doubled shows.
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

/// The answer repeats the prompt to the byte.
async fn prompt_arrives_intact(trial: &CaseRunner) -> CheckResult {
    let session = trial.new_session().await?;
    let told = trial.run_turn(&session, 0).await?;
    let (text, _) = told.result()?;
    let prompt = trial.prompt(0).text;
    ensure(text == prompt, || {
        format!(
            "the prompt came back changed: {}",
            difference(&prompt, text)
        )
    })
}

async fn answered_or_refused(trial: &CaseRunner) -> CheckResult {
    let session = trial.new_session().await?;
    match trial.agent().prompt(&session, trial.prompt(0)).await {
        Err(Error::InvalidInput(why)) => Err(CaseStop::Unsupported(why)),
        Err(other) => Err(CaseStop::Failed(format!(
            "the prompt gives the wrong error: {other}"
        ))),
        Ok(turn) => trial.collect(turn).await.expect_answer("You said nothing."),
    }
}

/// No agent can take it on a command line: it is refused before it begins, and harms nothing.
async fn nul_is_refused(trial: &CaseRunner) -> CheckResult {
    let session = trial.new_session().await?;
    let refused = trial.agent().prompt(&session, "before\0after").await;
    ensure(matches!(refused, Err(Error::InvalidInput(_))), || {
        "a prompt with a NUL character is taken".to_owned()
    })?;
    trial.run_turn_expecting_answer(&session, 0).await.map(drop)
}
