//! Model exchanges, recorded and replayed.

use windlass_cassette::{Cassette, Normalizer, Substitutions, strip_placeholder_numbers};
use windlass_scripted::script::{ScriptPart, ScriptTurn};
use windlass_scripted::{RunningModel, Script, ScriptedModel};
use windlass_wire::Dialect;

use super::harness::Harness;
use super::models::{ask, get, script};

const SCRIPT: &str = r#"{"turns": [{"answer": [{"text": "pong"}], "times": 10}]}"#;

async fn serve(model: ScriptedModel) -> RunningModel {
    model.listen("127.0.0.1:0".parse().unwrap()).await.unwrap()
}

fn recorded_cassette(running: &RunningModel) -> Cassette {
    let text = running.cassette(&Substitutions::new()).unwrap().unwrap();
    assert!(!text.contains("127.0.0.1:"), "{text}");
    Cassette::parse(&text).unwrap()
}

/// Returns the text without the generated ids of each response.
fn plain(body: &str) -> String {
    let text = Normalizer::new(&Substitutions::new()).normalize_text(body);
    strip_placeholder_numbers(&text).into_owned()
}

#[tokio::test]
async fn p15_every_dialect_is_replayed_byte_for_byte() {
    let recorded = serve(ScriptedModel::new(script(SCRIPT)).recording()).await;
    let mut answers = Vec::new();
    for dialect in Dialect::ALL {
        for stream in [false, true] {
            answers.push(plain(
                &ask(&recorded, dialect, stream, "Say pong").await.body,
            ));
        }
    }
    let cassette = recorded_cassette(&recorded);
    assert_eq!(cassette.exchanges().count(), 10);

    let again = serve(ScriptedModel::from_cassette(&cassette).recording()).await;
    let mut replayed = Vec::new();
    for dialect in Dialect::ALL {
        for stream in [false, true] {
            replayed.push(plain(&ask(&again, dialect, stream, "Say pong").await.body));
        }
    }
    assert_eq!(replayed, answers);
    assert!(again.report().is_clean(), "{}", again.report());
}

#[tokio::test]
async fn script_of_a_recording_gives_the_same_answers() {
    let original = script(
        r#"{"turns": [
            {"fault": {"status": {"code": 429, "retry_after_secs": 7, "message": "slow down"}}, "times": 10},
            {"answer": [{"reasoning": "Hm."}, {"text": "pong {workspace} \u017e"}, {"call": {"name": "t", "arguments": {"a": [1]}}}],
             "times": 10, "usage": {"input": 5, "output": 3, "cached": 1, "reasoning": 2}}
        ]}"#,
    );
    let recorded = serve(ScriptedModel::new(original.clone()).recording()).await;
    for _ in &original.turns {
        for dialect in Dialect::ALL {
            for stream in [false, true] {
                ask(&recorded, dialect, stream, "Say pong").await;
            }
        }
    }
    let made = Script::from_exchanges(recorded_cassette(&recorded).exchanges()).unwrap();
    assert_eq!(made.turns.len(), 20);
    for (turn, number) in made.turns.iter().zip(0..) {
        let expected = &original.turns[number / 10];
        assert_eq!(turn.fault, expected.fault, "{number}");
        assert_eq!(turn.when.turn, Some(1));
        // Ollama reports no cached tokens, and not every API has reasoning.
        let spoken = |turn: &ScriptTurn| {
            let parts = turn.answer.iter();
            parts
                .filter(|part| !matches!(part, ScriptPart::Reasoning(_)))
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(spoken(turn), spoken(expected), "{number}");
    }
}

#[tokio::test]
async fn unrecorded_request_is_reported_as_a_miss() {
    let recorded = serve(ScriptedModel::new(script(SCRIPT)).recording()).await;
    ask(&recorded, Dialect::Chat, false, "Say pong").await;
    let again = serve(ScriptedModel::from_cassette(&recorded_cassette(&recorded))).await;
    let received = ask(&again, Dialect::Chat, false, "Say ping").await;
    assert_eq!(received.status, 400);
    let message = received.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.contains("- turn 1: Say pong") && message.contains("+ turn 1: Say ping"),
        "{message}"
    );
    assert_eq!(again.unexpected().len(), 1);
    let received = get(&again, "/v1/nothing").await;
    assert_eq!(received.status, 400);
}

mod real {
    use super::*;

    #[tokio::test]
    async fn real_codex_runs_with_a_recording_of_its_model() {
        let files = [("notes.txt", "one\ntwo\nthree\n")];
        let model = ScriptedModel::new(Harness::script("edit.json")).recording();
        let recorded = Harness::on(model, &files).await;
        let mut command = recorded.codex("gpt-5.5");
        command.arg("Change the notes as agreed");
        let run = recorded.run(command).await;
        assert!(run.stdout.contains("All done."), "{}", run.details);
        let cassette = recorded_cassette(&recorded.model);

        let replayed = Harness::on(ScriptedModel::from_cassette(&cassette), &files).await;
        let mut command = replayed.codex("gpt-5.5");
        command.arg("Change the notes as agreed");
        let run = replayed.run(command).await;
        assert!(run.stdout.contains("All done."), "{}", run.details);
        let read = |harness: &Harness, name: &str| {
            std::fs::read_to_string(harness.work().join(name)).unwrap()
        };
        for name in ["notes.txt", "both.txt", "deep/er/new.txt"] {
            assert_eq!(read(&replayed, name), read(&recorded, name), "{name}");
        }
    }
}
