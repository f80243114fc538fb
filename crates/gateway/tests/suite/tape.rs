//! The model wire, recorded and served again.

use windlass_core::cassette::{Cassette, Normalizer, Substitutions, strip_placeholder_numbers};
use windlass_gateway::{RunningModel, ScriptedModel};
use windlass_wire::Dialect;

use super::curl::{ask, get};
use super::models::script;
use super::world::World;

const SCRIPT: &str = r#"{"turns": [{"answer": [{"text": "pong"}], "times": 10}]}"#;

async fn serve(model: ScriptedModel) -> RunningModel {
    model.listen("127.0.0.1:0".parse().unwrap()).await.unwrap()
}

fn cassette(running: &RunningModel) -> Cassette {
    let text = running.cassette(&Substitutions::new()).unwrap().unwrap();
    assert!(!text.contains("127.0.0.1:"), "{text}");
    Cassette::parse(&text).unwrap()
}

/// The text without the ids that each answer makes up.
fn plain(body: &str) -> String {
    let text = Normalizer::new(&Substitutions::new()).normalize_text(body);
    strip_placeholder_numbers(&text).into_owned()
}

#[tokio::test]
async fn p15_every_dialect_is_served_again_to_the_last_byte() {
    let recorded = serve(ScriptedModel::new(script(SCRIPT)).recording()).await;
    let mut answers = Vec::new();
    for dialect in Dialect::ALL {
        for stream in [false, true] {
            answers.push(plain(
                &ask(&recorded, dialect, stream, "Say pong").await.body,
            ));
        }
    }
    let tape = cassette(&recorded);
    assert_eq!(tape.exchanges().count(), 10);

    let again = serve(ScriptedModel::from_cassette(&tape).recording()).await;
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
async fn a_request_that_is_not_on_the_tape_is_a_loud_miss() {
    let recorded = serve(ScriptedModel::new(script(SCRIPT)).recording()).await;
    ask(&recorded, Dialect::Chat, false, "Say pong").await;
    let again = serve(ScriptedModel::from_cassette(&cassette(&recorded))).await;
    let seen = ask(&again, Dialect::Chat, false, "Say ping").await;
    assert_eq!(seen.status, 400);
    let message = seen.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("- question 1: Say pong") && message.contains("+ question 1: Say ping"),
        "{message}"
    );
    assert_eq!(again.unexpected().len(), 1);
    let seen = get(&again, "/v1/nothing").await;
    assert_eq!(seen.status, 400);
}

mod real {
    use super::*;

    #[tokio::test]
    async fn real_codex_runs_on_a_recording_of_its_model() {
        let files = [("notes.txt", "one\ntwo\nthree\n")];
        let model = ScriptedModel::new(World::script("edit.json")).recording();
        let here = World::on(model, &files).await;
        let mut command = here.codex("gpt-5.5");
        command.arg("Change the notes as agreed");
        let ended = here.run(command).await;
        assert!(ended.stdout.contains("All done."), "{}", ended.story);
        let tape = cassette(&here.model);

        let there = World::on(ScriptedModel::from_cassette(&tape), &files).await;
        let mut command = there.codex("gpt-5.5");
        command.arg("Change the notes as agreed");
        let ended = there.run(command).await;
        assert!(ended.stdout.contains("All done."), "{}", ended.story);
        let read =
            |world: &World, name: &str| std::fs::read_to_string(world.work().join(name)).unwrap();
        for name in ["notes.txt", "both.txt", "deep/er/new.txt"] {
            assert_eq!(read(&there, name), read(&here, name), "{name}");
        }
    }
}
