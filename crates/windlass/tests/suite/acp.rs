//! `windlass acp`: conversations, permissions, errors, cancellation, and the end of the client.

use std::path::Path;

use serde_json::{Value, json};

use super::acp_client::{AcpClient, assert_no_process, wait_until};
use super::run::Server;
use super::task_harness::TaskHarness;

/// Returns a project in which the default agent plays these turns.
fn with_turns(turns: Value) -> TaskHarness {
    TaskHarness::new("true", &json!({ "turns": turns }).to_string())
}

#[track_caller]
fn error(response: &Value) -> (i64, String) {
    let error = &response["error"];
    assert!(error.is_object(), "{response}");
    let message = error["message"].as_str().unwrap().to_owned();
    (error["code"].as_i64().unwrap(), message)
}

#[test]
fn turn_is_streamed_with_thoughts_tools_and_diffs() {
    let harness = with_turns(json!([
        { "answer": [{ "reasoning": "I look first." }, { "edit_file": { "path": "greet.sh", "old": "Hello", "new": "Ahoy" } }] },
        { "answer": [{ "text": "Now it " }, { "text": "says Ahoy." }] },
    ]));
    let mut client = AcpClient::start(&harness, &[]);
    let session = client.new_session(&harness.project());
    let turn = client.prompt(&session, "Greet like a sailor");
    assert_eq!(
        turn.response["result"]["stopReason"], "end_turn",
        "{}",
        turn.response
    );
    assert_eq!(
        turn.response["result"]["usage"]["totalTokens"], 220,
        "{}",
        turn.response
    );
    assert_eq!(
        turn.of_kind("agent_thought_chunk")[0]["content"]["text"],
        "I look first."
    );
    assert_eq!(turn.text(), "Now it says Ahoy.");
    let call = turn.of_kind("tool_call")[0];
    let path = harness.project().join("greet.sh");
    assert_eq!(call["kind"], "edit");
    assert_eq!(call["title"], "Edit greet.sh");
    assert_eq!(call["locations"], json!([{ "path": path }]));
    assert_eq!(
        call["content"],
        json!([{ "type": "diff", "path": path, "oldText": "Hello", "newText": "Ahoy" }])
    );
    let end = turn.of_kind("tool_call_update")[0];
    assert_eq!(
        (&end["toolCallId"], &end["status"]),
        (&call["toolCallId"], &json!("completed"))
    );
    assert!(harness.read("greet.sh").contains("Ahoy"));
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn errors_are_one_sentence_with_a_code() {
    let harness =
        with_turns(json!([{ "fault": { "status": { "code": 401 } } }, { "fault": "hang" }]));
    let mut client = AcpClient::start(&harness, &[]);
    let missing = json!({ "cwd": harness.path("missing"), "mcpServers": [] });
    let (code, message) = error(&client.call("session/new", missing));
    assert!(
        code == -32602 && message.ends_with("is not an absolute path of a directory"),
        "{message}"
    );
    let unknown = "00000000-0000-4000-8000-000000000000";
    for method in [
        "session/prompt",
        "session/load",
        "session/set_mode",
        "session/close",
    ] {
        let params = json!({ "sessionId": unknown, "prompt": [], "cwd": harness.project(), "mcpServers": [], "modeId": "ask" });
        let (code, message) = error(&client.call(method, params));
        assert_eq!(code, -32002, "{method}: {message}");
        assert_eq!(
            message,
            format!("session {unknown} is not known to windlass: start a new one")
        );
    }
    let session = client.new_session(&harness.project());
    let mode = json!({ "sessionId": session, "modeId": "yolo" });
    let (code, message) = error(&client.call("session/set_mode", mode));
    assert_eq!(
        (code, message.as_str()),
        (-32602, "unknown mode yolo: expected one of ask, edit, task")
    );
    let image = json!({ "sessionId": session, "prompt": [{ "type": "image", "data": "AA==", "mimeType": "image/png" }] });
    let (code, message) = error(&client.call("session/prompt", image));
    assert!(
        code == -32602 && message.starts_with("images are not supported"),
        "{message}"
    );
    let failed = client.prompt(&session, "Log in");
    assert_eq!(error(&failed.response).0, -32000, "{}", failed.response);
    assert_eq!(failed.response["error"]["data"]["code"], "AuthFailed");
    let running = client.start_prompt(&session, "Hang");
    let (code, message) = error(&client.prompt(&session, "Me too").response);
    assert!(code == -32600 && message.contains("is busy"), "{message}");
    client.cancel(&session);
    assert_eq!(
        client.response(running)["result"]["stopReason"],
        "cancelled"
    );
}

#[test]
fn missing_agent_and_missing_repository_are_reported() {
    let harness = with_turns(json!([]));
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let outside = tempfile::TempDir::new().unwrap();
    let new = |args: &[&str], cwd: &Path| {
        let mut client = AcpClient::start(&harness, args);
        error(&client.call("session/new", json!({ "cwd": cwd, "mcpServers": [] })))
    };
    let (code, message) = new(&["--mode", "task"], outside.path());
    assert!(
        code == -32602 && message.contains("is not inside a git repository"),
        "{message}"
    );
    let (code, message) = new(&["--agent", "plyer"], &harness.project());
    assert!(code == -32602 && message.contains("player"), "{message}");
    std::fs::write(&file, config.replace("default_agent = \"player\"\n", "")).unwrap();
    let (code, message) = new(&[], &harness.project());
    assert!(
        code == -32602 && message.starts_with("no agent selected: pass --agent NAME"),
        "{message}"
    );
}

#[test]
fn malformed_input_is_answered_and_survived() {
    let harness = with_turns(json!([{ "answer": [{ "text": "Here." }] }]));
    let mut client = AcpClient::start_raw(&harness, &[]);
    for (line, code) in [
        ("not json", -32700),
        ("[]", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":", -32700),
        (&"[".repeat(100_000), -32700),
        ("\u{0}\u{fffd}", -32700),
    ] {
        client.send_line(line);
        let answer = client.read_until(|message| message.get("error").is_some());
        assert_eq!(answer["error"]["code"], code, "{line:.40}");
    }
    let hello = json!({ "protocolVersion": 99, "clientCapabilities": {} });
    assert_eq!(
        client.call("initialize", hello)["result"]["protocolVersion"],
        1
    );
    assert_eq!(
        error(&client.call("session/unheard_of", json!({}))).0,
        -32601
    );
    assert_eq!(
        error(&client.call("session/prompt", json!({ "prompt": 7 }))).0,
        -32602
    );
    client.notify("session/cancel", json!({ "sessionId": "../../etc" }));
    client.notify("unheard/of", json!(null));
    let session = client.new_session(&harness.project());
    assert_eq!(client.prompt(&session, "Are you there?").text(), "Here.");
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn two_sessions_run_at_once_and_are_cancelled_one_by_one() {
    let harness = with_turns(json!([
        { "when": { "contains": "one" }, "answer": [{ "text": "I am one." }], "fault": "hang_mid_stream" },
        { "when": { "contains": "two" }, "answer": [{ "text": "I am two." }], "fault": "hang_mid_stream" },
        { "answer": [{ "text": "Again." }] },
    ]));
    let mut client = AcpClient::start(&harness, &[]);
    let sessions = [0, 1].map(|_| client.new_session(&harness.project()));
    assert_ne!(sessions[0], sessions[1]);
    let one = client.start_prompt(&sessions[0], "You are one");
    let two = client.start_prompt(&sessions[1], "You are two");
    for _ in 0..2 {
        client.wait_update("agent_message_chunk");
    }
    for update in &client.updates {
        let at = sessions
            .iter()
            .position(|session| update["sessionId"] == **session)
            .unwrap();
        assert_eq!(
            update["update"]["content"]["text"],
            ["I am one.", "I am two."][at]
        );
    }
    client.cancel(&sessions[0]);
    assert_eq!(client.response(one)["result"]["stopReason"], "cancelled");
    // A cancelled session can go on, while the other one still runs.
    assert_eq!(client.prompt(&sessions[0], "And now?").text(), "Again.");
    client.notify("$/cancel_request", json!({ "requestId": two }));
    assert_eq!(client.response(two)["result"]["stopReason"], "cancelled");
}

#[test]
fn cancel_in_a_tool_ends_the_tool() {
    let harness =
        with_turns(json!([{ "answer": [{ "shell": { "command": "tail -f greet.sh" } }] }]));
    let mut client = AcpClient::start(&harness, &[]);
    let session = client.new_session(&harness.project());
    let prompt = client.start_prompt(&session, "Wait");
    let call = client.wait_update("tool_call");
    assert_eq!(call["params"]["update"]["title"], "tail -f greet.sh");
    client.cancel(&session);
    assert_eq!(client.response(prompt)["result"]["stopReason"], "cancelled");
    let end = client.updates.last().unwrap();
    assert_eq!(end["update"]["status"], "failed", "{end}");
    assert_eq!(client.finish(), Some(0));
    assert_no_process(&harness);
}

/// The client is killed with all its files open, in the middle of a tool.
#[test]
fn killed_client_ends_the_program_and_its_agents() {
    let harness =
        with_turns(json!([{ "answer": [{ "shell": { "command": "tail -f greet.sh" } }] }]));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/acp_hanging_client.py");
    #[expect(
        clippy::disallowed_methods,
        reason = "a test that kills needs the child itself"
    )]
    let mut client = std::process::Command::new("python3")
        .env_clear()
        .env("HOME", harness.home())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .current_dir(harness.project())
        .arg(script)
        .arg(assert_cmd::cargo::cargo_bin("windlass"))
        .arg(harness.path("named.toml"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(client.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!(line, "the tool runs\n");
    wait_until("the tool runs", || {
        harness
            .processes()
            .iter()
            .any(|process| process.contains("tail"))
    });
    client.kill().unwrap();
    client.wait().unwrap();
    assert_no_process(&harness);
}

#[test]
fn permission_request_is_forwarded_with_its_diff() {
    for (answer, written) in [("allow_once", true), ("reject_once", false)] {
        let server = Server::with_turns(json!([
            { "answer": [{ "write_file": { "path": "new.txt", "content": "new\n" } }] },
            { "answer": [{ "text": "So be it." }] },
        ]));
        let harness = with_turns(json!([]));
        let file = harness.path("named.toml");
        let config = std::fs::read_to_string(&file).unwrap();
        let agent = format!(
            "[agents.careful]\nbackend = \"openai\"\nendpoint = \"{}/v1\"\nmodel = \"m\"\napi_key_env = \"KEY\"\n",
            server.url()
        );
        std::fs::write(&file, format!("{config}{agent}")).unwrap();
        let mut client = AcpClient::start(&harness, &["--agent", "careful"]);
        client.answer = Some(answer);
        let session = client.new_session(&harness.project());
        let turn = client.prompt(&session, "Write it");
        assert_eq!(turn.text(), "So be it.", "{}", turn.response);
        assert_eq!(
            harness.project().join("new.txt").exists(),
            written,
            "{answer}"
        );
        let [asked] = client.permissions.as_slice() else {
            panic!("{:#?}", client.permissions);
        };
        let asked_id = &asked["toolCall"]["toolCallId"];
        let updates = turn.updates.iter().map(|update| &update["update"]);
        let of_call: Vec<&Value> = updates
            .filter(|update| update["toolCallId"] == *asked_id)
            .collect();
        let end = if written { "completed" } else { "failed" };
        assert_eq!(of_call.last().unwrap()["status"], end, "{of_call:#?}");
        let path = harness.project().join("new.txt");
        let diff = json!([{ "type": "diff", "path": path, "newText": "new\n" }]);
        assert_eq!(asked["toolCall"]["content"], diff, "{asked:#}");
        assert_eq!(asked["sessionId"], session);
        server.finish();
    }
}

#[test]
fn modes_and_agents_are_selected() {
    let harness = with_turns(json!([{ "answer": [{ "text": "Played." }] }]));
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        format!("{config}[agents.echo]\nbackend = \"mock\"\n"),
    )
    .unwrap();
    let mut client = AcpClient::start(&harness, &["--mode", "ask"]);
    let response = client.call(
        "session/new",
        json!({ "cwd": harness.project(), "mcpServers": [] }),
    );
    let result = &response["result"];
    assert_eq!(result["modes"]["currentModeId"], "ask", "{result}");
    assert_eq!(
        result["modes"]["availableModes"].as_array().unwrap().len(),
        3
    );
    assert_eq!(result["configOptions"][1]["currentValue"], "player");
    let session = result["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(client.prompt(&session, "Hello").text(), "Played.");
    let set =
        |id: &str, value: &str| json!({ "sessionId": session, "configId": id, "value": value });
    let changed = client.call("session/set_config_option", set("agent", "echo"));
    assert_eq!(
        changed["result"]["configOptions"][1]["currentValue"], "echo",
        "{changed}"
    );
    assert_eq!(client.prompt(&session, "Echo this").text(), "Echo this");
    let mode = json!({ "sessionId": session, "modeId": "edit" });
    assert!(
        client
            .call("session/set_mode", mode)
            .get("result")
            .is_some()
    );
    let update = client
        .updates
        .iter()
        .rev()
        .find(|update| update["update"]["sessionUpdate"] == "config_option_update");
    assert_eq!(
        update.unwrap()["update"]["configOptions"][0]["currentValue"],
        "edit"
    );
    let unknown = client.call("session/set_config_option", set("agent", "nope"));
    assert_eq!(error(&unknown).0, -32602);
    assert_eq!(client.prompt(&session, "Still here").text(), "Still here");
}

#[test]
fn sessions_are_listed_loaded_closed_and_deleted() {
    let harness =
        with_turns(json!([{ "answer": [{ "text": "One." }] }, { "answer": [{ "text": "Two." }] }]));
    let mut client = AcpClient::start(&harness, &[]);
    let session = client.new_session(&harness.project());
    client.prompt(&session, "Say one\nplease");
    let list = client.call("session/list", json!({ "cwd": harness.project() }));
    let [info] = list["result"]["sessions"].as_array().unwrap().as_slice() else {
        panic!("{list}");
    };
    assert_eq!(
        (&info["sessionId"], &info["title"]),
        (&json!(session), &json!("Say one"))
    );
    let elsewhere = client.call("session/list", json!({ "cwd": "/" }));
    assert_eq!(elsewhere["result"]["sessions"], json!([]));
    client.call("session/close", json!({ "sessionId": session }));
    assert_eq!(
        error(&client.prompt(&session, "Closed?").response).0,
        -32002
    );
    client.updates.clear();
    let load = json!({ "sessionId": session, "cwd": harness.project(), "mcpServers": [] });
    let loaded = client.call("session/load", load.clone());
    assert_eq!(
        loaded["result"]["modes"]["currentModeId"], "edit",
        "{loaded}"
    );
    let replayed: Vec<String> = client
        .updates
        .iter()
        .map(|it| {
            format!(
                "{} {}",
                it["update"]["sessionUpdate"], it["update"]["content"]["text"]
            )
        })
        .collect();
    assert_eq!(
        replayed,
        [
            r#""user_message_chunk" "Say one\nplease""#,
            r#""agent_message_chunk" "One.""#
        ]
    );
    assert_eq!(client.prompt(&session, "Say two").text(), "Two.");
    assert_eq!(client.finish(), Some(0));
    // The mock's sessions ended with its process.
    let mut client = AcpClient::start(&harness, &[]);
    let (code, message) = error(&client.call("session/load", load));
    assert!(
        code == -32002 && message.contains("is not known to mock"),
        "{message}"
    );
    client.call("session/delete", json!({ "sessionId": session }));
    let list = client.call("session/list", json!({}));
    assert_eq!(list["result"]["sessions"], json!([]));
}

#[test]
fn interrupt_ends_the_program() {
    let harness = with_turns(json!([
        { "answer": [{ "text": "So far" }], "fault": "hang_mid_stream" }
    ]));
    let mut client = AcpClient::start(&harness, &[]);
    let session = client.new_session(&harness.project());
    let prompt = client.start_prompt(&session, "Hang");
    client.wait_update("agent_message_chunk");
    let pid = rustix::process::Pid::from_raw(i32::try_from(client.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(client.response(prompt)["result"]["stopReason"], "cancelled");
    assert_eq!(client.finish(), Some(0));
    assert_no_process(&harness);
}
