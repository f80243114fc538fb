//! Recordings of Claude Code, as events.

use expect_test::expect;

use super::replay::check;

#[test]
fn text() {
    check(
        "claude/text.jsonl",
        expect![[r#"
            session 6f41fc18-c3a9-4bda-8fc7-15ebc9c1f021
            text "PONG from fake model."
            RESULT "PONG from fake model." {"input_tokens":200,"output_tokens":34,"cache_read_tokens":1000,"cache_write_tokens":50,"cost_usd":0.00193} {"duration_ms":295,"num_turns":1,"stop_reason":"end_turn"}
        "#]],
    );
}

#[test]
fn partial_messages() {
    check(
        "claude/partial.jsonl",
        expect![[r#"
            session 258c4ef6-542a-45f9-89f6-ada069dcf361
            text "PONG "
            text "from "
            text "fake "
            text "model."
            RESULT "PONG from fake model." {"input_tokens":200,"output_tokens":34,"cache_read_tokens":1000,"cache_write_tokens":50,"cost_usd":0.00193} {"duration_ms":296,"num_turns":1,"stop_reason":"end_turn"}
        "#]],
    );
}

#[test]
fn thought() {
    check(
        "claude/think.jsonl",
        expect![[r#"
            session e3a3aea7-659b-46df-a0ec-0f6e39913424
            thought "Let me consider this carefully."
            text "PONG from fake model."
            RESULT "PONG from fake model." {"input_tokens":200,"output_tokens":34,"cache_read_tokens":1000,"cache_write_tokens":50,"cost_usd":0.00193} {"duration_ms":182,"num_turns":1,"stop_reason":"end_turn"}
        "#]],
    );
}

#[test]
fn tool_denied() {
    check(
        "claude/tool-default.jsonl",
        expect![[r#"
            session fddd2785-60a3-4b18-a0ae-7de27b2a07ee
            text "I will write the file."
            start toolu_7dc906c1523c4413 Write {"file_path":"/workspace/hello.txt","content":"hello from the fake model\n"}
            custom permission_denied {"tool":"Write","id":"toolu_7dc906c1523c4413","message":"Claude requested permissions to write to /workspace/hello.txt, but you haven't granted it yet."}
            end toolu_7dc906c1523c4413 Write failed "Claude requested permissions to write to /workspace/hello.txt, but you haven't granted it yet."
            text "Done: the tool ran and I am finished."
            RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":100,"cost_usd":0.00386} {"duration_ms":417,"num_turns":2,"stop_reason":"end_turn","permission_denials":[{"tool_name":"Write","tool_use_id":"toolu_7dc906c1523c4413","tool_input":{"file_…
        "#]],
    );
}

#[test]
fn tool() {
    check(
        "claude/tool-acceptEdits.jsonl",
        expect![[r#"
            session 6820aa30-5a51-43bb-b07d-d9767378d381
            text "I will write the file."
            start toolu_fabbf504f5264b5d Write {"file_path":"/workspace/hello.txt","content":"hello from the fake model\n"}
            end toolu_fabbf504f5264b5d Write ok "File created successfully at: /workspace/hello.txt (file state is current in your context — no need to Read it back)"
            text "Done: the tool ran and I am finished."
            RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":100,"cost_usd":0.00386} {"duration_ms":589,"num_turns":2,"stop_reason":"end_turn"}
        "#]],
    );
}

#[test]
fn failing_command() {
    check(
        "claude/shellfail.jsonl",
        expect![[r#"
            session 03b03c7c-4fe1-404d-8806-97f1a18c8e2c
            text "I will run a command."
            start toolu_b35a68185a6b4f09 Bash {"command":"echo boom >&2; exit 3","description":"run a command"}
            end toolu_b35a68185a6b4f09 Bash failed "Exit code 3\nboom"
            text "Done: the tool ran and I am finished."
            RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":100,"cost_usd":0.00386} {"duration_ms":588,"num_turns":2,"stop_reason":"end_turn"}
        "#]],
    );
}

#[test]
fn two_commands() {
    check(
        "claude/two.jsonl",
        expect![[r#"
            session 906a3a2c-c094-4ebc-9ce4-4195f243cc7d
            text "I will run a command."
            start toolu_022148f8b2f74cd2 Bash {"command":"echo one","description":"run a command"}
            start toolu_0815c06996ca462f Bash {"command":"echo two","description":"run a command"}
            end toolu_0815c06996ca462f Bash ok "two"
            end toolu_022148f8b2f74cd2 Bash ok "one"
            text "Done: the tool ran and I am finished."
            RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":100,"cost_usd":0.00386} {"duration_ms":525,"num_turns":3,"stop_reason":"end_turn"}
        "#]],
    );
}

#[test]
fn schema() {
    check(
        "claude/schema.jsonl",
        expect![[r#"
            session be9fc4ab-32d4-4248-a502-76e1fc600cfd
            start toolu_c9df0bac69e2408a StructuredOutput {"answer":"42","score":7}
            end toolu_c9df0bac69e2408a StructuredOutput ok "Structured output provided successfully"
            RESULT "{\"answer\":\"42\",\"score\":7}" {"input_tokens":200,"output_tokens":34,"cache_read_tokens":1000,"cache_write_tokens":50,"cost_usd":0.00193} {"duration_ms":499,"num_turns":2,"stop_reason":"tool_use","structured_output":{"answer":"42","score":7}}
        "#]],
    );
}

#[test]
fn resumed_session() {
    check(
        "claude/resume.jsonl",
        expect![[r#"
            session 6f41fc18-c3a9-4bda-8fc7-15ebc9c1f021
            text "PONG from fake model."
            RESULT "PONG from fake model." {"input_tokens":200,"output_tokens":34,"cache_read_tokens":1000,"cache_write_tokens":50,"cost_usd":0.00193} {"duration_ms":207,"num_turns":1,"stop_reason":"end_turn"}
        "#]],
    );
}

#[test]
fn unknown_session() {
    check(
        "claude/resume-bad.jsonl",
        expect![[r#"
        INVALID No conversation found with session ID: 00000000-0000-4000-8000-000000000000
    "#]],
    );
}

#[test]
fn no_key() {
    check(
        "claude/nokey.jsonl",
        expect![[r#"
        session 77401558-7989-4a0d-b3bf-03dd2f6d6a3a
        ERROR AuthFailed: Not logged in · Please run /login
    "#]],
    );
}

#[test]
fn status_401() {
    check(
        "claude/tame-e401.jsonl",
        expect![[r#"
        session ed9a4407-3eb1-4da5-a7f8-10cad526203c
        custom retry {"attempt":1,"of":1,"wait_ms":613,"status":401,"code":"AuthFailed","message":"authentication_failed"}
        ERROR AuthFailed: Invalid API key · Fix external API key
    "#]],
    );
}

#[test]
fn rate_limited() {
    check(
        "claude/tame-e429.jsonl",
        expect![[r#"
        session 2f67505c-f97e-40f5-9751-5c395adfd721
        ERROR RateLimited (try again): API Error: Request rejected (429) · This request would exceed your organization's rate limit.
    "#]],
    );
}

#[test]
fn no_credit() {
    check(
        "claude/err-quota.jsonl",
        expect![[r#"
        session 424b115f-7b33-4f76-9994-87fa5e789706
        ERROR RateLimited: Credit balance is too low
    "#]],
    );
}

#[test]
fn bad_request() {
    check(
        "claude/err-e400.jsonl",
        expect![[r#"
        session dab6bebe-27a6-46aa-a77c-2de26bfc5db8
        ERROR BackendError: API Error: 400 fake 400
    "#]],
    );
}

#[test]
fn context_too_long() {
    check(
        "claude/err-ctx.jsonl",
        expect![[r#"
        session 5589c73d-b8ce-4e9d-8dd7-9b2f87b88bfb
        ERROR BackendError: Prompt is too long · the request is ~250000 tokens (limit 200000) but this conversation is only ~2624 tokens — the rest is system prompt, tool definitions, and …
    "#]],
    );
}

#[test]
fn timed_out() {
    check(
        "claude/tame-hang.jsonl",
        expect![[r#"
        session 1787ec9c-e529-4e5f-aff9-f269eac69c5a
        ERROR Timeout (try again): Request timed out
    "#]],
    );
}

#[test]
fn interrupted_in_a_tool() {
    check(
        "claude/sigint-tool.jsonl",
        expect![[r#"
            session cfb7337d-9eca-400e-a051-358fd2f1ea2e
            text "I will run a command."
            start toolu_9c0d68a748df4dc5 Bash {"command":"tail -f README.md","description":"run a command"}
            end toolu_9c0d68a748df4dc5 Bash failed "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP wh…
            ERROR Cancelled: interrupted
        "#]],
    );
}

#[test]
fn interrupted_while_waiting() {
    check(
        "claude/sigint-hang.jsonl",
        expect![[r#"
        session 2ddb44fd-627e-49d2-a7e0-3e72f63cb25c
        ERROR BackendError (try again): claude ended with exit code 0 without reporting a result
    "#]],
    );
}

#[test]
fn two_way_tool() {
    check(
        "claude/stdio-tool.jsonl",
        expect![[r#"
            > {"type":"control_request","request_id":"windlass-1","request":{"subtype":"initialize","hooks":{}}}
            > {"type":"user","message":{"role":"user","content":"Create hello.txt"}}
            session 3d7e98e0-7aad-45f2-a27b-6216ff931005
            text "I will write the file."
            start toolu_32cd4d200dc14764 Write {"file_path":"/workspace/hello.txt","content":"hello from the fake model\n"}
            > {"type":"control_response","response":{"subtype":"success","request_id":"68b5dd01-b2e4-47cd-b94b-c5f8582e2dbf","response":{"behavior":"allow","updatedInput":{"f…
            end toolu_32cd4d200dc14764 Write ok "File created successfully at: /workspace/hello.txt (file state is current in your context — no need to Read it back)"
            text "Done: the tool ran and I am finished."
            RESULT "Done: the tool ran and I am finished." {"input_tokens":400,"output_tokens":68,"cache_read_tokens":2000,"cache_write_tokens":100,"cost_usd":0.00386} {"duration_ms":823,"num_turns":2,"stop_reason":"end_turn"}
        "#]],
    );
}

#[test]
fn two_way_interrupted() {
    check(
        "claude/stdio-interrupt.jsonl",
        expect![[r#"
            > {"type":"control_request","request_id":"windlass-1","request":{"subtype":"initialize","hooks":{}}}
            > {"type":"user","message":{"role":"user","content":"Create hello.txt"}}
            session df5133bc-9af8-40ef-beb4-6de229025cb3
            > {"type":"control_request","request_id":"windlass-2","request":{"subtype":"interrupt"}}
            text "word0 word1 word2 word3 word4 "
            ERROR Cancelled: interrupted
        "#]],
    );
}

#[test]
fn two_turns() {
    check(
        "claude/stdio-multi.jsonl",
        expect![[r#"
            > {"type":"control_request","request_id":"windlass-1","request":{"subtype":"initialize","hooks":{}}}
            > {"type":"user","message":{"role":"user","content":"Create hello.txt"}}
            session 7ba8e2a6-56f4-442a-9dd4-42be076752d2
            text "PONG from fake model."
            RESULT "PONG from fake model." {"input_tokens":200,"output_tokens":34,"cache_read_tokens":1000,"cache_write_tokens":50,"cost_usd":0.00193} {"duration_ms":585,"num_turns":1,"stop_reason":"end_turn"}
            > {"type":"user","message":{"role":"user","content":"Create hello.txt"}}
            session 7ba8e2a6-56f4-442a-9dd4-42be076752d2
            text "PONG from fake model."
            RESULT "PONG from fake model." {"input_tokens":200,"output_tokens":34,"cache_read_tokens":1000,"cache_write_tokens":50,"cost_usd":0.00193} {"duration_ms":611,"num_turns":1,"stop_reason":"end_turn"}
        "#]],
    );
}
