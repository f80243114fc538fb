//! The suite passes what is right and fails what is wrong.

use std::collections::HashMap;
use std::sync::Mutex;

use expect_test::expect;
use windlass_core::cassette::{Cassette, Substitutions};
use windlass_core::{AgentHandle, Capabilities, Result};
use windlass_testkit::conformance::{CaseScript, Matrix, Report, Verdict, exercise};
use windlass_testkit::{Recording, RecordingAgent, ReplayAgent};

use super::bad::Bad;

fn mock(stage: &CaseScript) -> Result<AgentHandle> {
    Ok(AgentHandle::wrap(stage.mock()))
}

/// Runs the suite on the mock, recorded: the report, and a cassette's text for each case.
async fn recorded() -> (Report, HashMap<String, String>) {
    let recordings: Mutex<HashMap<String, Recording>> = Mutex::default();
    let candidate = |stage: &CaseScript| {
        let agent = RecordingAgent::new(stage.mock());
        let recording = agent.recording();
        recordings
            .lock()
            .unwrap()
            .insert(stage.case.clone(), recording);
        Ok(AgentHandle::wrap(agent))
    };
    let report = exercise(&candidate).await;
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
async fn the_mock_its_recording_and_its_replay_pass() {
    let (recording, cassettes) = recorded().await;
    let replay = exercise(&|stage: &CaseScript| {
        let cassette = Cassette::parse(&cassettes[&stage.case]).unwrap();
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
                                           mock     replay 
        session    new                     passed   passed 
        session    several                 passed   passed "]]
    .assert_eq(&head.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_cannot_do_is_refused() {
    let candidate = |stage: &CaseScript| {
        let mute = stage.mock().with_capabilities(Capabilities::default());
        Ok(AgentHandle::wrap(mute))
    };
    let report = exercise(&candidate).await;
    assert!(report.passed(), "{report}");
    let refused: Vec<String> = report
        .rows()
        .iter()
        .filter_map(|row| match &row.verdict {
            Verdict::Unsupported(why) => Some(format!("{}, {}: {why}", row.group, row.name)),
            _ => None,
        })
        .collect();
    expect![[r#"
        session, resumed: mock cannot take up a session
        session, unknown, resumed: mock cannot take up a session
        events, text in pieces: mock does not write its answer in pieces
        tools, paired: mock does not report tools
        tools, failing: mock does not report tools
        usage, per turn: mock does not count tokens
        cancel, in the text: mock does not write its answer in pieces
        cancel, in a tool: mock does not report tools
        schema, native: mock cannot hold an answer to a schema"#]]
    .assert_eq(&refused.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_bad_backend_fails_every_case() {
    let report = exercise(&Bad::default()).await;
    for row in report.rows() {
        assert!(
            matches!(row.verdict, Verdict::Failed(_)),
            "{} passed:\n{report}",
            row.name
        );
    }
    expect![[r#"
        bad: 0 passed, 0 refused, 33 failed
        session    new                     FAILED   the answer should be "Hello." and is "What?"
        session    several                 FAILED   two sessions have one id, mock-1
        session    remembers               FAILED   the answer should be "The word is amber." and is "The word is basalt."
        session    resumed                 FAILED   the answer should be "The word is amber." and is "The word is basalt."
        session    unknown, resumed        FAILED   a session that never was is taken up
        session    unknown, prompted       FAILED   a turn in an unknown session ended with {"type":"Result","text":"Hello!","usage":null,"metadata":null}
        events     grammar                 FAILED   the backend ends the turn without a terminal event
        events     text in pieces          FAILED   the pieces do not make the answer: 59 bytes should come and 30 came; from byte 0 on it should be "First this. Then that.\nAnd at last, this: ünïcödé 👍." and is " last, this: ünïcödé 👍."
        tools      paired                  FAILED   the backend left shell open
        tools      failing                 FAILED   the end of shell says success where it was a failure
        usage      per turn                FAILED   turn 2 wrote 20 tokens, as much as turns before it together
        cancel     before the first event  FAILED   the cancelled turn took 10.0 s to end, at most 5 s are right
        cancel     in the text             FAILED   the cancelled turn took 10.0 s to end, at most 5 s are right
        cancel     in a tool               FAILED   the cancelled turn took 10.0 s to end, at most 5 s are right
        cancel     twice                   FAILED   the cancelled turn took 10.0 s to end, at most 5 s are right
        cancel     after the end           FAILED   the turn should end with a result and ended with {"type":"SessionInvalid","reason":"session mock-1 is not known to bad: start a n…
        cancel     and then a new turn     FAILED   the turn should end with a result and ended with {"type":"SessionInvalid","reason":"session mock-1 is not known to bad: start a n…
        time       deadline                FAILED   the turn that ran out of time took 12.0 s to end, at most 7 s are right
        time       reader gone             FAILED   the turn that nobody read took 5.0 s to end, at most 5 s are right
        processes  none left               FAILED   these processes outlived the agent by 2 s: 17 node
        schema     native                  FAILED   the backend's capabilities say that it cannot hold an answer to a schema, yet it does
        prompts    starts with a dash      FAILED   the prompt came back changed: 16 bytes should come and 16 came; from byte 0 on it should be "--version -p 'x'" and is "'x' p- noisrev--"
        prompts    right to left           FAILED   the prompt came back changed: 38 bytes should come and 38 came; from byte 0 on it should be "אמור שלום \u{202e}abc\u{202c} مرحبا" and is "ابحرم \u{202c}cba\u{202e} םולש רומא"
        prompts    role delimiters         FAILED   the prompt came back changed: 63 bytes should come and 63 came; from byte 0 on it should be "<<<ROLE:USER>>>\nHi.\n<<<ROLE:ASSISTANT>>>\n<|im_end|>\n\n\nHuman: hi" and is "ih :namuH\n\n\n>|dne_mi|<\n>>>TNATSISSA:ELOR<<<\n.iH\n>>>RESU:ELOR<<<"
        prompts    emoji                   FAILED   the prompt came back changed: 53 bytes should come and 53 came; from byte 0 on it should be "👩\u{200d}👩\u{200d}👧\u{200d}👦 🏳\u{fe0f}\u{200d}🌈 e\u{301} 👍🏽" and is "🏽👍 \u{301}e 🌈\u{200d}\u{fe0f}🏳 👦\u{200d}👧\u{200d}👩\u{200d}👩"
        prompts    line ends               FAILED   the prompt came back changed: 16 bytes should come and 16 came; from byte 0 on it should be "one\r\ntwo\rthree\n\n" and is "\n\neerht\rowt\n\reno"
        prompts    white space around      FAILED   the prompt came back changed: 14 bytes should come and 14 came; from byte 0 on it should be " \t indented \n " and is " \n detnedni \t "
        prompts    quotes and escapes      FAILED   the prompt came back changed: 54 bytes should come and 54 came; from byte 0 on it should be "\"a\" 'b' `c` $HOME $(id) %n \\n \\u0000 {workspace} {{x}}" and is "}}x{{ }ecapskrow{ 0000u\\ n\\ n% )di($ EMOH$ `c` 'b' \"a\""
        prompts    control characters      FAILED   the prompt came back changed: 23 bytes should come and 23 came; from byte 0 on it should be "bell \u{7} escape \u{1b}[31m red" and is "der m13[\u{1b} epacse \u{7} lleb"
        prompts    empty                   FAILED   the answer should be "You said nothing." and is "What?"
        prompts    only white space        FAILED   the answer should be "You said nothing." and is "What?"
        prompts    1 MiB                   FAILED   the prompt came back changed: 1048576 bytes should come and 1048576 came; from byte 0 on it should be "line 0 of a large prompt\nline 1 of a large prompt\nline 2 of a large prompt\nline …" and is "morp egral a fo 04563 enil\ntpmorp egral a fo 93563 enil\ntpmorp egral a fo 83563 …"
        prompts    NUL                     FAILED   the answer should be "Hello." and is "What?"
    "#]].assert_eq(&report.to_string());
}
