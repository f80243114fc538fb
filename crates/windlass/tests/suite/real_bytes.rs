//! The bytes of real agents' calls and of their answers, in front of the bridge and behind it: the same.

use sha2::{Digest, Sha256};
use windlass_agents::bridge::{ModelBridge, ModelRoute};
use windlass_bridge::{Bridge, MeterSettings};
use windlass_core::{ExposeSecret, SecretString};

use super::byte_relay::ByteRelay;
use super::cli_harness::Run;
use super::real_bridge::editing;
use super::real_composite::harness;
use super::real_scenarios::programs_of;
use super::run::Server;

/// Lets an agent edit a file, with a relay in front of the bridge and one behind it.
#[expect(clippy::print_stdout, reason = "the full tier shows the hashes")]
#[track_caller]
fn check_bytes(agent: &str, tier: &str, model: &str) {
    let server = Server::with_turns(editing());
    let behind = ByteRelay::start(&server.url());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let bridge = Bridge::new(MeterSettings::default());
    let route = ModelRoute {
        agent: agent.to_owned(),
        upstream: format!("http://127.0.0.1:{}", behind.port),
        keys: vec![SecretString::from("sk-of-the-provider")],
        ..ModelRoute::default()
    };
    let access = runtime.block_on(async { bridge.open(route) }).unwrap();
    let front = ByteRelay::start(&access.url);
    let path = access.url.rsplit('/').next().unwrap();
    let harness = harness(&format!(
        "[agents.real]\nbackend = {agent:?}\nmodel = {model:?}\nendpoint = \"http://127.0.0.1:{}/{path}\"\n\
         api_key_env = \"KEY\"\npermissions = \"allow\"\nbridge = \"off\"\n",
        front.port
    ));
    harness.file("notes.txt", "one\ntwo\n");
    let programs = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        programs_of(tier).display()
    );
    let mut command = harness.command();
    let command = command
        .env("PATH", programs)
        .env("KEY", access.tokens[0].expose_secret())
        .args(["ask", "-a", "real", "-o", "json", "Edit the notes"]);
    let run = Run::of(command);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert_eq!(harness.read("notes.txt"), "one\nthree\n");

    let (sent, answered) = front.bodies();
    let (received, answers) = behind.bodies();
    assert!(sent.len() >= 3 && answered.len() >= 3, "{}", sent.len());
    for (kind, one, other) in [
        ("request", &sent, &received),
        ("response", &answered, &answers),
    ] {
        let (one, other) = (hashes(one), hashes(other));
        for (hash, bytes) in &one {
            println!("{agent}  {kind:<8}  {bytes:>7} bytes  {hash}");
        }
        assert_eq!(one, other, "{kind}");
    }
}

fn hashes(bodies: &[Vec<u8>]) -> Vec<(String, usize)> {
    let hash = |body: &Vec<u8>| {
        let hash = Sha256::digest(body);
        let bytes = hash[..8].iter().map(|byte| format!("{byte:02x}"));
        bytes.collect::<String>()
    };
    bodies.iter().map(|body| (hash(body), body.len())).collect()
}

/// Defines a test for each agent.
macro_rules! agents {
    ($($(#[$meta:meta])* $name:ident: $backend:literal, $tier:literal, $model:literal;)+) => {
        $(
            $(#[$meta])*
            #[test]
            fn $name() {
                check_bytes($backend, $tier, $model);
            }
        )+
    };
}

agents! {
    bytes_of_codex_pass_unchanged: "codex", "agents", "gpt-5";
    bytes_of_claude_pass_unchanged: "claude", "agents", "claude-sonnet-4-5";
    #[ignore = "full: starts the real Gemini CLI"]
    bytes_of_gemini_pass_unchanged: "gemini", "agents-full", "gemini-2.5-pro";
    #[ignore = "full: starts the real opencode"]
    bytes_of_opencode_pass_unchanged: "opencode", "agents-full", "scripted";
    #[ignore = "full: starts the real Qwen Code"]
    bytes_of_qwen_pass_unchanged: "qwen", "agents-full", "scripted";
    #[ignore = "full: starts the real Copilot CLI"]
    bytes_of_copilot_pass_unchanged: "copilot", "agents-full", "scripted";
}
