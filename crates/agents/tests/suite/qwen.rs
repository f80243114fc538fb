//! Recordings of Qwen Code, as events.

use expect_test::expect;
use windlass_agents::cli::claude::StreamJson;
use windlass_agents::cli::{Parser, RunningTotal};

use super::render;
use super::replay::check;

#[test]
fn text() {
    check(
        "qwen/text.jsonl",
        expect![[r#"
            session be2fc8e0-80a4-4eb2-8403-07b2cee688e8
            text "PONG from fake model."
            RESULT "PONG from fake model." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000} {"duration_ms":1013,"num_turns":1,"stop_reason":null}
        "#]],
    );
}

#[test]
fn tool() {
    check(
        "qwen/tool.jsonl",
        expect![[r#"
            session 2dbc21d5-9242-4c7a-9059-c499aaf1d0e2
            text "I will write the file."
            start call_2c3dfc1b3c write_file {"file_path":"/workspace/hello.txt","content":"hello from the fake model\n"}
            end call_2c3dfc1b3c write_file ok "Successfully created and wrote to new file: /workspace/hello.txt."
            text "Done: the tool ran and I am finished."
            RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000} {"duration_ms":862,"num_turns":2,"stop_reason":null}
        "#]],
    );
}

#[test]
fn failing_command() {
    check(
        "qwen/shellfail.jsonl",
        expect![[r#"
            session b37b7cfc-8b1a-4845-9aef-d644d48692cb
            text "I will run a command."
            start call_311cdc2b7b run_shell_command {"command":"echo boom >&2; exit 3","description":"run a command","is_background":false}
            end call_311cdc2b7b run_shell_command failed "Command: echo boom >&2; exit 3\nDirectory: (root)\nOutput: boom\nError: (none)\nExit Code: 3\nSignal: (none)\nProcess Group PGID: (none)"
            text "Done: the tool ran and I am finished."
            RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000} {"duration_ms":1532,"num_turns":2,"stop_reason":null}
        "#]],
    );
}

#[test]
fn status_401() {
    check(
        "qwen/err-e401.jsonl",
        expect![[r#"
        session 26b1d0c1-91b4-4470-944f-530c8d74f539
        ERROR AuthFailed: [API Error: 401 Incorrect API key provided: dummy.]
    "#]],
    );
}

#[test]
fn stream_disconnected() {
    check(
        "qwen/err-break.jsonl",
        expect![[r#"
            session 611ff631-23d6-434d-b85a-6cef0fe72a7d
            custom retry {"attempt":null,"of":null,"wait_ms":null,"status":null,"code":"BackendError","message":"retry"}
            custom retry {"attempt":null,"of":null,"wait_ms":null,"status":null,"code":"BackendError","message":"retry"}
            custom retry {"attempt":null,"of":null,"wait_ms":null,"status":null,"code":"BackendError","message":"retry"}
            text "PONG from fake PONG from fake PONG from fake PONG from fake "
            ERROR BackendError (try again): [API Error: terminated (cause: UND_ERR_SOCKET: other side closed)]
        "#]],
    );
}

#[test]
fn no_key() {
    check(
        "qwen/nokey.jsonl",
        expect![[r#"
        ERROR AuthFailed: Missing API key for OpenAI-compatible auth. Set settings.security.auth.apiKey, or set the 'OPENAI_API_KEY' environment variable.
    "#]],
    );
}

#[test]
fn unknown_session() {
    check(
        "qwen/resume-bad.txt",
        expect![[r#"
        INVALID No saved session found with ID 00000000-0000-4000-8000-000000000000. Run `qwen --resume` without an ID to choose from existing sessions.
    "#]],
    );
}

#[test]
fn schema_ignored() {
    check(
        "qwen/schema-violated.jsonl",
        expect![[r#"
        session dc8f14ce-8d9a-471c-a233-40348d197394
        text "PONG from fake model."
        ERROR BackendError (try again): Model produced plain text instead of calling the structured_output tool as required by --json-schema after 1 turn(s). Output preview (21 chars): "PONG from fake…
    "#]],
    );
}

/// The last line counts the tokens of the whole session.
#[test]
fn usage_is_counted_per_turn() {
    let end = |before| {
        let usage = r#"{"input_tokens":2200,"output_tokens":60,"cache_read_input_tokens":1200}"#;
        let line =
            format!(r#"{{"type":"result","subtype":"success","result":"Hi","usage":{usage}}}"#);
        render::parsed(&StreamJson::qwen(before).parse_line(&line)).join("\n")
    };
    let before = RunningTotal {
        input: 1100,
        cached: 600,
        output: 30,
        ..RunningTotal::default()
    };
    let metadata = r#"{"duration_ms":null,"num_turns":null,"stop_reason":null}"#;
    let usage = r#"{"input_tokens":500,"output_tokens":30,"cache_read_tokens":600}"#;
    assert_eq!(
        end(Some(before)),
        format!(r#"RESULT "Hi" {usage} {metadata}"#)
    );
    // The usage is unknown if the previous total is unknown.
    assert_eq!(end(None), format!(r#"RESULT "Hi" null {metadata}"#));
}
