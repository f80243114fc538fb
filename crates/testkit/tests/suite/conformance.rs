//! The conformance suite passes correct backends and fails wrong ones.

use std::collections::HashMap;
use std::sync::Mutex;

use expect_test::expect;
use windlass_cassette::{Cassette, Substitutions};
use windlass_core::{AgentHandle, Capabilities, Result};
use windlass_testkit::conformance::{CaseScript, Matrix, Report, Verdict, exercise};
use windlass_testkit::{Recording, RecordingAgent, ReplayAgent};

use super::bad::Bad;

fn mock(script: &CaseScript) -> Result<AgentHandle> {
    Ok(AgentHandle::wrap(script.mock()))
}

/// Runs the suite on a recorded mock. Returns the report, and the text of a cassette for each case.
async fn recorded() -> (Report, HashMap<String, String>) {
    let recordings: Mutex<HashMap<String, Recording>> = Mutex::default();
    let backend = |script: &CaseScript| {
        let agent = RecordingAgent::new(script.mock());
        let recording = agent.recording();
        recordings
            .lock()
            .unwrap()
            .insert(script.case.clone(), recording);
        Ok(AgentHandle::wrap(agent))
    };
    let report = exercise(&backend).await;
    let text = |recording: Recording| {
        let cassette = recording.cassette(&Substitutions::new()).unwrap();
        cassette.to_jsonl().unwrap()
    };
    let recordings = recordings.into_inner().unwrap();
    let cassettes = recordings
        .into_iter()
        .map(|(case, recording)| (case, text(recording)));
    (report, cassettes.collect())
}

#[tokio::test(start_paused = true)]
async fn mock_recording_and_replay_pass() {
    let (recording, cassettes) = recorded().await;
    let replay = exercise(&|script: &CaseScript| {
        let cassette = Cassette::parse(&cassettes[&script.case]).unwrap();
        Ok(AgentHandle::wrap(ReplayAgent::new(cassette)))
    })
    .await;
    let mock = exercise(&mock).await;
    for report in [&mock, &recording, &replay] {
        assert!(report.passed(), "{report}");
    }
    let matrix = Matrix(&[mock, replay]).to_string();
    println!("{matrix}");
    let head: Vec<&str> = matrix.lines().take(3).collect();
    expect![[r"
                                           mock         replay     
        session    new                     passed       passed     
        session    several                 passed       passed     "]]
    .assert_eq(&head.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn missing_capabilities_are_reported_as_unsupported() {
    let backend = |script: &CaseScript| {
        let limited = script.mock().with_capabilities(Capabilities::default());
        Ok(AgentHandle::wrap(limited))
    };
    let report = exercise(&backend).await;
    assert!(report.passed(), "{report}");
    let unsupported: Vec<String> = report
        .rows()
        .iter()
        .filter_map(|row| match &row.verdict {
            Verdict::Unsupported(reason) => Some(format!("{}, {}: {reason}", row.group, row.name)),
            _ => None,
        })
        .collect();
    expect![[r#"
        session, resumed: mock cannot resume a session
        session, unknown, resumed: mock cannot resume a session
        events, streamed text: mock does not stream its answer
        tools, paired: mock does not report tools
        tools, failing: mock does not report tools
        usage, per turn: mock does not count tokens
        cancel, in the text: mock does not stream its answer
        cancel, in a tool: mock does not report tools
        schema, native: mock cannot enforce a schema"#]]
    .assert_eq(&unsupported.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn bad_backend_fails_every_case() {
    let report = exercise(&Bad::default()).await;
    for row in report.rows() {
        assert!(
            matches!(row.verdict, Verdict::Failed(_)),
            "{} passed:\n{report}",
            row.name
        );
    }
    expect![[r#"
        bad: 0 passed, 0 unsupported, 33 failed
        session    new                     FAILED       expected the answer "Hello.", got "What?"
        session    several                 FAILED       two sessions have the same id mock-1
        session    remembers               FAILED       expected the answer "The word is amber.", got "The word is basalt."
        session    resumed                 FAILED       expected the answer "The word is amber.", got "The word is basalt."
        session    unknown, resumed        FAILED       an unknown session was resumed
        session    unknown, prompted       FAILED       a turn in an unknown session ended with {"type":"Result","text":"Hello!","usage":null,"metadata":null}
        events     grammar                 FAILED       the backend ends the turn without a terminal event
        events     streamed text           FAILED       the text chunks do not add up to the answer: expected 59 bytes, got 30; from byte 0: expected "First this. Then that.\nAnd at last, this: ünïcödé 👍.", got " last, this: ünïcödé 👍."
        tools      paired                  FAILED       the backend left shell open
        tools      failing                 FAILED       the end of shell reports success instead of failure
        usage      per turn                FAILED       turn 2 reports 20 output tokens, as many as all earlier turns together
        cancel     before the first event  FAILED       the cancelled turn took 10.0 s to end (limit: 5 s)
        cancel     in the text             FAILED       the cancelled turn took 10.0 s to end (limit: 5 s)
        cancel     in a tool               FAILED       the cancelled turn took 10.0 s to end (limit: 5 s)
        cancel     twice                   FAILED       the cancelled turn took 10.0 s to end (limit: 5 s)
        cancel     after the end           FAILED       expected the turn to end with a result, it ended with {"type":"SessionInvalid","reason":"session mock-1 is not known to bad: start a n…
        cancel     and then a new turn     FAILED       expected the turn to end with a result, it ended with {"type":"SessionInvalid","reason":"session mock-1 is not known to bad: start a n…
        time       deadline                FAILED       the timed-out turn took 12.0 s to end (limit: 7 s)
        time       reader gone             FAILED       the turn without a reader took 5.0 s to end (limit: 5 s)
        processes  none left               FAILED       these processes outlived the agent by 2 s: 17 node
        schema     native                  FAILED       the backend does not declare that it can enforce a schema, but does
        prompts    starts with a dash      FAILED       the prompt was changed: expected 16 bytes, got 16; from byte 0: expected "--version -p 'x'", got "'x' p- noisrev--"
        prompts    right to left           FAILED       the prompt was changed: expected 38 bytes, got 38; from byte 0: expected "אמור שלום \u{202e}abc\u{202c} مرحبا", got "ابحرم \u{202c}cba\u{202e} םולש רומא"
        prompts    role delimiters         FAILED       the prompt was changed: expected 63 bytes, got 63; from byte 0: expected "<<<ROLE:USER>>>\nHi.\n<<<ROLE:ASSISTANT>>>\n<|im_end|>\n\n\nHuman: hi", got "ih :namuH\n\n\n>|dne_mi|<\n>>>TNATSISSA:ELOR<<<\n.iH\n>>>RESU:ELOR<<<"
        prompts    emoji                   FAILED       the prompt was changed: expected 53 bytes, got 53; from byte 0: expected "👩\u{200d}👩\u{200d}👧\u{200d}👦 🏳\u{fe0f}\u{200d}🌈 e\u{301} 👍🏽", got "🏽👍 \u{301}e 🌈\u{200d}\u{fe0f}🏳 👦\u{200d}👧\u{200d}👩\u{200d}👩"
        prompts    line ends               FAILED       the prompt was changed: expected 16 bytes, got 16; from byte 0: expected "one\r\ntwo\rthree\n\n", got "\n\neerht\rowt\n\reno"
        prompts    white space around      FAILED       the prompt was changed: expected 14 bytes, got 14; from byte 0: expected " \t indented \n ", got " \n detnedni \t "
        prompts    quotes and escapes      FAILED       the prompt was changed: expected 54 bytes, got 54; from byte 0: expected "\"a\" 'b' `c` $HOME $(id) %n \\n \\u0000 {workspace} {{x}}", got "}}x{{ }ecapskrow{ 0000u\\ n\\ n% )di($ EMOH$ `c` 'b' \"a\""
        prompts    control characters      FAILED       the prompt was changed: expected 23 bytes, got 23; from byte 0: expected "bell \u{7} escape \u{1b}[31m red", got "der m13[\u{1b} epacse \u{7} lleb"
        prompts    empty                   FAILED       expected the answer "Your prompt is empty.", got "What?"
        prompts    only white space        FAILED       expected the answer "Your prompt is empty.", got "What?"
        prompts    1 MiB                   FAILED       the prompt was changed: expected 1048576 bytes, got 1048576; from byte 0: expected "line 0 of a large prompt\nline 1 of a large prompt\nline 2 of a large prompt\nline …", got "morp egral a fo 04563 enil\ntpmorp egral a fo 93563 enil\ntpmorp egral a fo 83563 …"
        prompts    NUL                     FAILED       expected the answer "Hello.", got "What?"
    "#]].assert_eq(&report.to_string());
}
