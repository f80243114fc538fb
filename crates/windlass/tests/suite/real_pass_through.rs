//! Real agents with a login of their own, whose calls pass through the bridge: the provider gets the agent's authorization, the
//! calls are counted, and nothing of Windlass stores the login.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::byte_relay::ByteRelay;
use super::cli_harness::Run;
use super::real_bridge::{editing, files_with};
use super::real_composite::harness;
use super::real_scenarios::programs;
use super::run::Server;

/// A token as `codex login` stores it, valid until 2100, without a valid signature.
const CODEX_TOKEN: &str = concat!(
    "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.",
    "eyJleHAiOjQxMDI0NDQ4MDAsImVtYWlsIjoiYWRhQGV4YW1wbGUuY29tIiwiaHR0cHM6Ly9hcGkub3BlbmFpLmNvbS",
    "9hdXRoIjp7ImNoYXRncHRfcGxhbl90eXBlIjoicGx1cyIsImNoYXRncHRfYWNjb3VudF9pZCI6ImFjYy0xIiwiY2hhdGdwdF91c2VyX2lkIjoidXNlci0xIn19",
    ".c2lnbmF0dXJl"
);
const CLAUDE_TOKEN: &str = "sk-ant-oat01-canary-of-the-login";

/// Lets an agent that has this file as its login edit a file.
#[track_caller]
fn check_pass_through(agent: &str, model: &str, path: &str, login: (&str, &str, Value)) {
    let (file, token, stored) = login;
    let server = Server::with_turns(editing());
    let relay = ByteRelay::start(&server.url());
    let harness = harness(&format!(
        "[agents.real]\nbackend = {agent:?}\nmodel = {model:?}\npermissions = \"allow\"\nbridge = \"pass_through\"\n\
         endpoint = \"http://127.0.0.1:{}{path}\"\n",
        relay.port
    ));
    harness.file("notes.txt", "one\ntwo\n");
    let file = harness.home().join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, stored.to_string()).unwrap();
    let programs = format!("{}:/usr/local/bin:/usr/bin:/bin", programs().display());
    let run = |args: &[&str]| {
        let mut command = harness.command();
        Run::of(command.env("PATH", &programs).args(args))
    };

    let turn = run(&["ask", "-a", "real", "-o", "json", "Edit the notes"]);
    assert_eq!(turn.code, 0, "{}{}", turn.stdout, turn.stderr);
    assert_eq!(harness.read("notes.txt"), "one\nthree\n");
    let sent: Vec<u8> = relay
        .streams()
        .into_iter()
        .flat_map(|(sent, _)| sent)
        .collect();
    let sent = String::from_utf8_lossy(&sent).to_ascii_lowercase();
    let authorization = format!("authorization: bearer {}", token.to_ascii_lowercase());
    let calls = sent.matches(&authorization).count();
    assert!(calls >= 3, "{calls} calls with the login");

    let usage = run(&["usage", "--by", "account", "--json"]);
    let rows: Value = serde_json::from_str(&usage.stdout).unwrap();
    assert!(rows[0]["calls"].as_u64() >= Some(3), "{rows}");
    assert!(rows[0]["input_tokens"].as_u64() >= Some(3000), "{rows}");
    let account = rows[0]["key"].as_str().unwrap();
    assert!(account.starts_with(&format!("127.0.0.1:{}", relay.port)));

    let root = harness.home().parent().unwrap().to_owned();
    let elsewhere = files_with(&root, token).into_iter();
    let elsewhere: Vec<PathBuf> = elsewhere.filter(|found| *found != file).collect();
    assert_eq!(elsewhere, Vec::<PathBuf>::new());
}

#[test]
fn p19_codex_with_its_own_login_passes_through() {
    let tokens = json!({
        "id_token": CODEX_TOKEN,
        "access_token": CODEX_TOKEN,
        "refresh_token": "rt-1",
        "account_id": "acc-1",
    });
    let stored = json!({
        "auth_mode": "chatgpt",
        "OPENAI_API_KEY": null,
        "tokens": tokens,
        "last_refresh": "2100-01-01T00:00:00Z",
    });
    let login = (".codex/auth.json", CODEX_TOKEN, stored);
    check_pass_through("codex", "gpt-5", "/backend-api/codex", login);
}

#[test]
fn p19_claude_with_its_own_login_passes_through() {
    let stored = json!({ "claudeAiOauth": {
        "accessToken": CLAUDE_TOKEN,
        "refreshToken": "sk-ant-ort01-1",
        "expiresAt": 4_102_444_800_000_u64,
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
    } });
    let login = (".claude/.credentials.json", CLAUDE_TOKEN, stored);
    check_pass_through("claude", "claude-sonnet-4-5", "", login);
}
