//! Recordings of Codex, as events.

use expect_test::expect;
use serde_json::{Value, json};
use windlass_agents::cli::Parser;
use windlass_core::PermissionPolicy;

use super::replay::{app_server, check, fixtures};

#[test]
fn text() {
    check(
        "codex/text.jsonl",
        expect![[r#"
        session 01a1dcd1-dd0e-7da0-8017-f9c5133fe22f
        text "PONG from fake model."
        RESULT "PONG from fake model." {"input_tokens":200,"output_tokens":34,"cache_read_tokens":1000,"cache_write_tokens":0,"extra":{"reasoning_tokens":8}} {}
    "#]],
    );
}

#[test]
fn thought() {
    check(
        "codex/think.jsonl",
        expect![[r#"
        session 01a1dcd1-df75-7fa0-ab53-7da6cc7f2bee
        thought "Let me consider this carefully."
        text "PONG from fake model."
        RESULT "PONG from fake model." {"input_tokens":200,"output_tokens":34,"cache_read_tokens":1000,"cache_write_tokens":0,"extra":{"reasoning_tokens":8}} {}
    "#]],
    );
}

#[test]
fn patch() {
    check(
        "codex/tool-patch.jsonl",
        expect![[r#"
        session 01a1dcd1-e0d8-7e33-8eed-cb793de8f8b5
        text "I will write the file."
        start 1/item_1 apply_patch {"changes":[{"path":"/workspace/hello.txt","kind":"add"}]}
        end 1/item_1 apply_patch ok {"changes":[{"path":"/workspace/hello.txt","kind":"add"}]}
        text "Done: the tool ran and I am finished."
        RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":0,"extra":{"reasoning_tokens":16}} {}
    "#]],
    );
}

#[test]
fn command() {
    check(
        "codex/tool-shell.jsonl",
        expect![[r#"
        session 01a1dcd1-e2da-70c3-a97f-4551a43a057e
        text "I will run a command."
        start 1/item_1 shell {"command":"/bin/bash -lc 'echo hi > hello.txt && cat hello.txt'"}
        end 1/item_1 shell ok {"output":"hi\n","exit_code":0}
        text "Done: the tool ran and I am finished."
        RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":0,"extra":{"reasoning_tokens":16}} {}
    "#]],
    );
}

#[test]
fn failing_command() {
    check(
        "codex/tool-shellfail.jsonl",
        expect![[r#"
        session 01a1dcd1-f1fd-7da0-b3f5-135f4026a98e
        text "I will run a command."
        start 1/item_1 shell {"command":"/bin/bash -lc 'echo boom >&2; exit 3'"}
        end 1/item_1 shell failed {"output":"boom\n","exit_code":3}
        text "Done: the tool ran and I am finished."
        RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":0,"extra":{"reasoning_tokens":16}} {}
    "#]],
    );
}

#[test]
fn two_commands() {
    check(
        "codex/tool-two.jsonl",
        expect![[r#"
        session 01a1dcd1-f421-70c3-8de9-f5a0bd784f6d
        text "I will run a command."
        start 1/item_1 shell {"command":"/bin/bash -lc 'echo two'"}
        end 1/item_1 shell ok {"output":"two\n","exit_code":0}
        start 1/item_2 shell {"command":"/bin/bash -lc 'echo one'"}
        end 1/item_2 shell ok {"output":"one\n","exit_code":0}
        text "Done: the tool ran and I am finished."
        RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":0,"extra":{"reasoning_tokens":16}} {}
    "#]],
    );
}

#[test]
fn invalid_utf8_output() {
    check(
        "codex/shellbin.jsonl",
        expect![[r#"
        session 01a1dcfe-cd76-7d40-ad0a-e28da63ab6e3
        text "I will run a command."
        start 1/item_1 shell {"command":"/bin/bash -lc \"printf 'ok\\\\377\\\\376\\\\000\\\\033[31mred\\\\033[0m end'\""}
        end 1/item_1 shell ok {"output":"ok��\u0000\u001b[31mred\u001b[0m end","exit_code":0}
        text "Done: the tool ran and I am finished."
        RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":0,"extra":{"reasoning_tokens":16}} {}
    "#]],
    );
}

#[test]
fn resumed_thread() {
    check(
        "codex/resume.jsonl",
        expect![[r#"
            session 01a1dcd1-dd0e-7da0-8017-f9c5133fe22f
            text "PONG from fake model."
            RESULT "PONG from fake model." {"input_tokens":200,"output_tokens":34,"cache_read_tokens":1000,"cache_write_tokens":0,"extra":{"reasoning_tokens":8}} {}
        "#]],
    );
}

#[test]
fn unknown_thread() {
    check(
        "codex/resume-bad.txt",
        expect![[r#"
        INVALID Error: thread/resume: thread/resume failed: no rollout found for thread id 01a1dcd0-0000-7000-8000-000000000000 (code -32600)
    "#]],
    );
}

#[test]
fn no_git() {
    check(
        "codex/nogit.txt",
        expect![[r#"
        ERROR BackendError (try again): codex ended with exit code 1: Not inside a trusted directory and --skip-git-repo-check was not specified.
    "#]],
    );
}

#[test]
fn no_key() {
    check(
        "codex/nokey.jsonl",
        expect![[r#"
        session 01a1dcd2-313e-7120-8985-6facc1b55706
        ERROR AuthFailed: Missing environment variable: `FAKE_KEY`.
    "#]],
    );
}

#[test]
fn status_401() {
    check(
        "codex/err-e401.jsonl",
        expect![[r#"
        session 01a1dcd3-07b2-7021-a161-010fe87120a8
        custom retry {"attempt":1,"of":1,"wait_ms":null,"status":401,"code":"AuthFailed","message":"unexpected status 401 Unauthorized: Incorrect API key provided: dummy., url: http…
        ERROR AuthFailed: unexpected status 401 Unauthorized: Incorrect API key provided: dummy., url: http://127.0.0.1:9100/m/e401/v1/responses, request id: req_fake_0001
    "#]],
    );
}

#[test]
fn rate_limited() {
    check(
        "codex/err-e429ra.jsonl",
        expect![[r#"
        session 01a1dcd3-0f36-7900-81f9-03e93c55c1d3
        custom retry {"attempt":1,"of":1,"wait_ms":null,"status":429,"code":"RateLimited","message":"exceeded retry limit, last status: 429 Too Many Requests, request id: req_fake_0…
        ERROR RateLimited (try again): exceeded retry limit, last status: 429 Too Many Requests, request id: req_fake_0001
    "#]],
    );
}

#[test]
fn no_quota() {
    check(
        "codex/err-quota.jsonl",
        expect![[r#"
        session 01a1dcd3-2bf7-7821-8f82-4bf2ab70e372
        ERROR RateLimited (try again): Quota exceeded. Check your plan and billing details.
    "#]],
    );
}

#[test]
fn bad_request() {
    check(
        "codex/err-e400.jsonl",
        expect![[r#"
            session 01a1dcd3-058f-7cf2-8ab4-bca258fe55e2
            ERROR BackendError (try again): fake 400
        "#]],
    );
}

#[test]
fn context_too_long() {
    check(
        "codex/err-ctx.jsonl",
        expect![[r#"
            session 01a1dcd3-3129-7533-8e78-d8bf63a1d801
            ERROR BackendError: This model's maximum context length is 128000 tokens.
        "#]],
    );
}

#[test]
fn server_error() {
    check(
        "codex/err-e500.jsonl",
        expect![[r#"
        session 01a1dcd3-2d79-7093-834b-06ec82571eff
        custom retry {"attempt":1,"of":1,"wait_ms":null,"status":null,"code":"BackendError","message":"We’re currently experiencing high demand, which may cause temporary errors."}
        ERROR BackendError (try again): We’re currently experiencing high demand, which may cause temporary errors.
    "#]],
    );
}

#[test]
fn stream_disconnected() {
    check(
        "codex/err-break.jsonl",
        expect![[r#"
        session 01a1dcd3-3262-7522-a9b5-f1f25474d63f
        custom retry {"attempt":1,"of":1,"wait_ms":null,"status":null,"code":"BackendError","message":"stream disconnected before completion: Transport error: network error: error d…
        ERROR BackendError (try again): stream disconnected before completion: Transport error: network error: error decoding response body
    "#]],
    );
}

#[test]
fn killed_in_a_tool() {
    check(
        "codex/sigkill-tool.jsonl",
        expect![[r#"
        session 01a1dcf3-0337-7f12-b026-01fec6a98d2a
        text "I will run a command."
        start 1/item_1 shell {"command":"/bin/bash -lc 'tail -f README.md'"}
        ERROR BackendError (try again): codex ended with exit code 137 without reporting a result
    "#]],
    );
}

#[test]
fn app_server_tool() {
    check(
        "codex/appserver-tool.jsonl",
        expect![[r#"
        > {"id":1,"method":"initialize","params":{"clientInfo":{"name":"windlass","title":"Windlass","version":"0.1.0"}}}
        > {"method":"initialized"}
        > {"id":2,"method":"thread/start","params":{"cwd":"/workspace","approvalPolicy":"on-request","sandbox":"workspace-write"}}
        session 01a1dce6-dda9-7e53-99f1-1fc34b84b6cf
        > {"id":3,"method":"turn/start","params":{"threadId":"01a1dce6-dda9-7e53-99f1-1fc34b84b6cf","input":[{"type":"text","text":"Create hello.txt"}]}}
        text "I "
        text "will "
        text "write "
        text "the "
        text "file."
        start call_182388ced4 apply_patch {"changes":[{"path":"/workspace/hello.txt","kind":{"type":"add"},"diff":"hello from the fake model\n"}]}
        > {"id":0,"result":{"decision":"accept"}}
        end call_182388ced4 apply_patch ok {"changes":[{"path":"/workspace/hello.txt","kind":{"type":"add"},"diff":"hello from the fake model\n"}]}
        custom diff {"diff":"diff --git a/hello.txt b/hello.txt\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..adc0da5fc0d3e0e765cff007780e7cd313e64510\n---…
        text "Done: "
        text "the "
        text "tool "
        text "ran "
        text "and "
        text "I "
        text "am "
        text "finished."
        RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":0,"extra":{"reasoning_tokens":16}} {"duration_ms":353}
    "#]],
    );
}

#[test]
fn app_server_command() {
    check(
        "codex/appserver-shell.jsonl",
        expect![[r#"
        > {"id":1,"method":"initialize","params":{"clientInfo":{"name":"windlass","title":"Windlass","version":"0.1.0"}}}
        > {"method":"initialized"}
        > {"id":2,"method":"thread/start","params":{"cwd":"/workspace","approvalPolicy":"on-request","sandbox":"workspace-write"}}
        session 01a1dce6-e530-72f3-8220-c7ebd0ff4897
        > {"id":3,"method":"turn/start","params":{"threadId":"01a1dce6-e530-72f3-8220-c7ebd0ff4897","input":[{"type":"text","text":"Create hello.txt"}]}}
        text "I "
        text "will "
        text "run "
        text "a "
        text "command."
        start call_401a7504eb shell {"command":"/bin/bash -lc 'echo hi > hello.txt && cat hello.txt'"}
        end call_401a7504eb shell ok {"output":"hi\n","exit_code":0}
        text "Done: "
        text "the "
        text "tool "
        text "ran "
        text "and "
        text "I "
        text "am "
        text "finished."
        RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":0,"extra":{"reasoning_tokens":16}} {"duration_ms":307}
    "#]],
    );
}

#[test]
fn app_server_status_401() {
    check(
        "codex/appserver-err401.jsonl",
        expect![[r#"
        > {"id":1,"method":"initialize","params":{"clientInfo":{"name":"windlass","title":"Windlass","version":"0.1.0"}}}
        > {"method":"initialized"}
        > {"id":2,"method":"thread/start","params":{"cwd":"/workspace","approvalPolicy":"on-request","sandbox":"workspace-write"}}
        session 01a1dce6-f9e5-7ed0-b126-8040cde95c13
        > {"id":3,"method":"turn/start","params":{"threadId":"01a1dce6-f9e5-7ed0-b126-8040cde95c13","input":[{"type":"text","text":"Create hello.txt"}]}}
        custom retry {"attempt":1,"of":1,"wait_ms":null,"status":401,"code":"AuthFailed","message":"unexpected status 401 Unauthorized: Incorrect API key provided: dummy., url: http…
        ERROR AuthFailed: unexpected status 401 Unauthorized: Incorrect API key provided: dummy., url: http://127.0.0.1:9100/m/e401/v1/responses, request id: req_fake_0001
    "#]],
    );
}

#[test]
fn app_server_interrupted() {
    check(
        "codex/appserver-interrupt.jsonl",
        expect![[r#"
        > {"id":1,"method":"initialize","params":{"clientInfo":{"name":"windlass","title":"Windlass","version":"0.1.0"}}}
        > {"method":"initialized"}
        > {"id":2,"method":"thread/start","params":{"cwd":"/workspace","approvalPolicy":"on-request","sandbox":"workspace-write"}}
        session 01a1dce6-e9f4-7c01-8503-7557b45c18dc
        > {"id":3,"method":"turn/start","params":{"threadId":"01a1dce6-e9f4-7c01-8503-7557b45c18dc","input":[{"type":"text","text":"Create hello.txt"}]}}
        text "word0 "
        text "word1 "
        text "word2 "
        text "word3 "
        text "word4 "
        > {"id":4,"method":"turn/interrupt","params":{"threadId":"01a1dce6-e9f4-7c01-8503-7557b45c18dc","turnId":"01a1dce6-eb00-7840-b16b-828db01a669b"}}
        ERROR Cancelled: interrupted
    "#]],
    );
}

/// The approver must see which files a request is about.
#[test]
fn permission_request_names_the_files() {
    let recorded = std::fs::read_to_string(fixtures().join("codex/appserver-tool.jsonl")).unwrap();
    let mut server = app_server(PermissionPolicy::Ask);
    let request = recorded.lines().find_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let parsed =
            (line["dir"] == "agent->client").then(|| server.parse_line(&line["msg"].to_string()));
        parsed?.asks.into_iter().next()
    });
    let request = request.unwrap();
    assert_eq!(request.input["paths"], json!(["hello.txt"]));
    assert_eq!(request.input.get("command"), None);
}
