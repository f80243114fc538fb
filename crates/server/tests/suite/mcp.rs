//! The MCP server: tools, resources and errors.

use serde_json::{Value, json};

use super::full_run::{claim, request_permission, run_full_task};
use super::harness::Harness;
use super::mcp_client::tool_error;

#[tokio::test]
async fn tasks_are_added_listed_and_shown() {
    let harness = Harness::new().await;
    let token = harness.token();
    let task = json!({ "title": "Sell \u{1b}[31mbread", "priority": 1, "idempotency_key": "k" });
    let added = harness.call(token, "add_task", task.clone()).await;
    assert_eq!(added["isError"], false, "{added}");
    let stored = &added["structuredContent"]["task"];
    assert_eq!([&stored["id"], &stored["priority"]], [1, 1]);
    assert_eq!(added["structuredContent"]["added"], true);
    // The text is safe on a terminal.
    let text = added["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, "added task 1 is pending: Sell \\u{1b}[31mbread");
    let again = harness.call(token, "add_task", task).await;
    assert_eq!(again["structuredContent"]["added"], false);

    let mut expected = vec![1];
    for title in ["two", "three", "four", "five"] {
        expected.push(harness.add(title).await.id.get());
    }
    let second = json!({ "id": expected[1] });
    let mut ids = Vec::new();
    let mut arguments = json!({ "limit": 2, "status": ["pending", "pending"] });
    loop {
        let page = harness.call(token, "list_tasks", arguments.clone()).await;
        let page = &page["structuredContent"];
        ids.extend(
            page["tasks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|task| task["id"].clone()),
        );
        match &page["next_cursor"] {
            Value::Null => break,
            cursor => arguments["cursor"] = cursor.clone(),
        }
    }
    assert_eq!(json!(ids), json!(expected));
    let none = json!({ "status": ["failed"] });
    let none = harness.call(token, "list_tasks", none).await;
    assert_eq!(none["content"][0]["text"], "no tasks");

    let shown = harness.call(token, "show_task", second.clone()).await;
    let shown = &shown["structuredContent"];
    assert_eq!(shown["task"]["title"], "two");
    assert_eq!([&shown["done"], &shown["needs_person"]], [false, false]);
    let log = format!("windlass://task/{}/log", expected[1]);
    assert_eq!(shown["resources"], json!([log]));
    let cancelled = harness.call(token, "cancel_task", second.clone()).await;
    let text = format!("task {} is cancelled: two", expected[1]);
    assert_eq!(cancelled["content"][0]["text"], text.as_str());
    let retried = harness.call(token, "retry_task", second.clone()).await;
    assert_eq!(retried["structuredContent"]["task"]["status"], "pending");
}

#[tokio::test]
async fn errors_are_one_sentence() {
    let harness = Harness::new().await;
    harness.add("one").await;
    let token = harness.token();
    for (tool, arguments, expected) in [
        (
            "add_task",
            json!({}),
            "invalid arguments for add_task: missing field `title`",
        ),
        (
            "add_task",
            json!({ "title": " " }),
            "title must not be empty",
        ),
        (
            "add_task",
            json!({ "title": "x", "kind": "chef" }),
            "unknown variant `chef`",
        ),
        (
            "add_task",
            json!({ "title": "x", "max_attempts": 101 }),
            "max_attempts is 101; it must be 1 to 100",
        ),
        (
            "add_task",
            json!({ "title": "x", "cost": 1 }),
            "unknown field `cost`",
        ),
        (
            "show_task",
            json!({ "id": "one" }),
            "invalid arguments for show_task",
        ),
        ("show_task", json!({ "id": 7 }), "task 7"),
        ("retry_task", json!({ "id": 1 }), "task 1"),
        (
            "list_tasks",
            json!({ "cursor": "x" }),
            "unknown cursor: use the next_cursor of the previous page",
        ),
        (
            "answer_blocker",
            json!({ "id": 1, "text": " " }),
            "the answer must not be empty",
        ),
        (
            "answer_blocker",
            json!({ "id": 5, "text": "x" }),
            "question 5",
        ),
        (
            "decide_approval",
            json!({ "id": 5, "option": "x" }),
            "permission request 5",
        ),
        (
            "ask_agent",
            json!({ "prompt": "" }),
            "the prompt must not be empty",
        ),
    ] {
        let text = tool_error(&harness.call(token, tool, arguments).await);
        assert!(text.contains(expected), "{tool}: {text}");
        assert!(!text.contains('\n') && text.len() < 300, "{tool}: {text}");
    }
    let params = json!({ "name": "drop_tables", "arguments": {} });
    let unknown = harness.mcp(token, "tools/call", params).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

/// What a host operation reports internally stays in the log.
#[tokio::test]
async fn merges_report_their_outcome_and_hide_internal_errors() {
    let harness = Harness::new().await;
    for title in ["one", "two", "three"] {
        harness.add(title).await;
    }
    let token = harness.token();
    let merged = harness.call(token, "merge_task", json!({ "id": 1 })).await;
    assert_eq!(merged["structuredContent"]["merge"]["status"], "nothing");
    let refused = harness.call(token, "merge_task", json!({ "id": 2 })).await;
    assert_eq!(tool_error(&refused), "your edits would be lost");
    let failed = harness.call(token, "merge_task", json!({ "id": 3 })).await;
    assert!(
        tool_error(&failed).starts_with("internal error"),
        "{failed}"
    );
    assert!(!failed.to_string().contains("secret"), "{failed}");
}

#[tokio::test]
async fn diff_has_pages() {
    let harness = Harness::new().await;
    harness.add("one").await;
    let first = json!({ "id": 1, "limit": 3 });
    let first = harness.call(harness.token(), "diff_task", first).await;
    let page = &first["structuredContent"];
    assert_eq!(page["diff"].as_str().unwrap().lines().count(), 3);
    assert_eq!([&page["next_offset"], &page["lines"]], [3, 8]);
    let rest = json!({ "id": 1, "offset": 3 });
    let rest = harness.call(harness.token(), "diff_task", rest).await;
    let text = rest["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("+fn new() -> u8 { 7 } // \\u{1b}[31m \\u{202e}"),
        "{text}"
    );
    assert!(rest["structuredContent"]["next_offset"].is_null());
}

#[tokio::test]
async fn permission_request_ends_the_wait_and_is_decided() {
    let harness = Harness::new().await;
    harness.add("one").await;
    let attempt = claim(&harness).await;
    request_permission(&harness, attempt).await;
    let request = 1;
    let token = harness.token();
    let waited = json!({ "id": attempt.task, "timeout_secs": 600 });
    let waited = harness.call(token, "wait_for_task", waited).await;
    let waited = &waited["structuredContent"];
    assert_eq!(
        [&waited["done"], &waited["needs_person"]],
        [false, true],
        "{waited}"
    );
    assert_eq!(waited["approvals"][0]["id"], request);
    let options = &waited["approvals"][0]["options"];
    let option = options[0]["id"].as_str().unwrap();
    let wrong = json!({ "id": request, "option": "maybe" });
    let wrong = harness.call(token, "decide_approval", wrong).await;
    assert!(tool_error(&wrong).contains("does not offer \"maybe\""));
    let decision = json!({ "id": request, "option": option });
    let decided = harness
        .call(token, "decide_approval", decision.clone())
        .await;
    assert_eq!(
        decided["structuredContent"]["approval"]["decision"]["option"],
        option
    );
    let again = harness.call(token, "decide_approval", decision).await;
    assert_eq!(again["isError"], false, "{again}");
    let open = harness.call(token, "list_approvals", json!({})).await;
    assert_eq!(open["content"][0]["text"], "no permission requests");
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let harness = Harness::new().await;
    run_full_task(&harness).await;
    let token = harness.token();
    let listed = harness.mcp(token, "resources/list", json!({})).await;
    let resources = listed["result"]["resources"].as_array().unwrap();
    let uris: Vec<&str> = resources
        .iter()
        .map(|found| found["uri"].as_str().unwrap())
        .collect();
    assert!(uris.contains(&"windlass://task/1/log"), "{uris:?}");
    let read = async |uri: &str| {
        harness
            .mcp(token, "resources/read", json!({ "uri": uri }))
            .await
    };
    for uri in &uris {
        let found = read(uri).await;
        let content = &found["result"]["contents"][0];
        assert_eq!(content["uri"], *uri, "{found}");
        assert!(!content["text"].as_str().unwrap().is_empty(), "{found}");
        if content["mimeType"] == "application/json" {
            let text = content["text"].as_str().unwrap();
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
        }
    }
    let later = read("windlass://task/1/diff?offset=7").await;
    assert_eq!(later["result"]["contents"][0]["mimeType"], "text/plain");
    for (uri, code) in [
        ("windlass://task/99/log", -32002),
        ("windlass://task/1/secrets", -32602),
        ("file:///etc/passwd", -32602),
    ] {
        let failed = read(uri).await;
        assert_eq!(failed["error"]["code"], code, "{uri}: {failed}");
    }
    let templates = harness
        .mcp(token, "resources/templates/list", json!({}))
        .await;
    assert_eq!(
        templates["result"]["resourceTemplates"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
}
