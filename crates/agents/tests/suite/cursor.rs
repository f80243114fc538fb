//! Output of Cursor as it is documented, as events.

use expect_test::expect;

use super::replay::check;

#[test]
fn text() {
    check(
        "cursor/text.jsonl",
        expect![[r#"
        session 5e6f7a80-1111-4222-8333-944444444444
        text "Pong."
        RESULT "Pong." null {"duration_ms":1234}
    "#]],
    );
}

#[test]
fn partial_messages() {
    check(
        "cursor/partial.jsonl",
        expect![[r#"
        session 5e6f7a80-1111-4222-8333-944444444444
        thought "Easy."
        text "Po"
        text "ng."
        start c1 ls {"path":"."}
        end c1 ls ok {"files":["a.txt"]}
        text "Done."
        RESULT "Pong.Done." {"input_tokens":120,"output_tokens":9,"cache_read_tokens":40,"cache_write_tokens":0} {"duration_ms":1234}
    "#]],
    );
}

#[test]
fn commands() {
    check(
        "cursor/shell.jsonl",
        expect![[r#"
        session 5e6f7a80-1111-4222-8333-944444444444
        start c1 shell {"command":"ls"}
        end c1 shell ok {"stdout":"a.txt\n","stderr":"","exitCode":0}
        start c2 shell {"command":"false"}
        end c2 shell failed {"stdout":"","stderr":"","exitCode":1}
        text "Done."
        RESULT "Done." null {"duration_ms":1234}
    "#]],
    );
}

#[test]
fn rejected() {
    check(
        "cursor/rejected.jsonl",
        expect![[r#"
        session 5e6f7a80-1111-4222-8333-944444444444
        start call-1\nfc_1 write {"path":"a.txt","contents":"x"}
        end call-1\nfc_1 write failed {"error":"permission denied","details":{"reason":"not allowed","isReadonly":false}}
        start c2 lookup "{\"q\":1}"
        end c2 lookup failed {"message":"no such function"}
        text "I could not."
        RESULT "I could not." null {"duration_ms":1234}
    "#]],
    );
}

#[test]
fn usage_limit() {
    check(
        "cursor/failed.jsonl",
        expect![[r#"
        session 5e6f7a80-1111-4222-8333-944444444444
        ERROR RateLimited (try again): You've hit your usage limit
    "#]],
    );
}

#[test]
fn not_signed_in() {
    check(
        "cursor/login.txt",
        expect![[r#"
        custom unparsed "  Press any key to sign in..."
        ERROR AuthFailed: Press any key to sign in...
    "#]],
    );
}

#[test]
fn no_key() {
    check(
        "cursor/nokey.txt",
        expect![[r#"
        ERROR AuthFailed: cursor ended with exit code 1: Error: Authentication required. Please run 'cursor-agent login' first, or set CURSOR_API_KEY.
    "#]],
    );
}

#[test]
fn truncated_output() {
    check(
        "cursor/cut.jsonl",
        expect![[r#"
        session 5e6f7a80-1111-4222-8333-944444444444
        text "Half an ans"
        start c1 read {"path":"a.txt"}
        custom unparsed "{\"type\":\"tool_call\",\"subtype\":\"comp"
        ERROR BackendError (try again): cursor ended with exit code 137 without reporting a result
    "#]],
    );
}
