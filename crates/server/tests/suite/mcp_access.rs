//! The MCP server: which tools and resources a token may use, and the guard in front of them.

use serde_json::json;
use windlass_tasks::{NewProject, NewTask, Projects, Scope, TaskQueue};

use super::client::Request;
use super::harness::Harness;
use super::mcp_client::{http_request, message, tool_error};

/// Every tool, its valid arguments for an unknown id, the scopes that it needs, and the route of the HTTP API that
/// does the same.
const TOOLS: &[(&str, &str, &[Scope], &str)] = &[
    ("list_tasks", "{}", &[Scope::Read], "get /tasks"),
    (
        "show_task",
        r#"{"id": 999}"#,
        &[Scope::Read],
        "get /tasks/999",
    ),
    (
        "wait_for_task",
        r#"{"id": 999}"#,
        &[Scope::Read],
        "get /tasks/999",
    ),
    (
        "diff_task",
        r#"{"id": 999}"#,
        &[Scope::Read],
        "get /tasks/999/diff",
    ),
    ("list_blockers", "{}", &[Scope::Read], "get /blockers"),
    ("list_approvals", "{}", &[Scope::Read], "get /approvals"),
    ("list_agents", "{}", &[Scope::Read], "get /agents"),
    (
        "add_task",
        r#"{"title": "x"}"#,
        &[Scope::Work],
        "post /tasks",
    ),
    (
        "retry_task",
        r#"{"id": 999}"#,
        &[Scope::Work],
        "post /tasks/999/retry",
    ),
    (
        "ask_agent",
        r#"{"prompt": "x"}"#,
        &[Scope::Read, Scope::Work],
        "",
    ),
    (
        "answer_blocker",
        r#"{"id": 999, "text": "x"}"#,
        &[Scope::Approve],
        "post /blockers/999/answer",
    ),
    (
        "decide_approval",
        r#"{"id": 999, "option": "x"}"#,
        &[Scope::Approve],
        "post /approvals/999/decision",
    ),
    (
        "cancel_task",
        r#"{"id": 999}"#,
        &[Scope::Approve],
        "post /tasks/999/cancel",
    ),
    (
        "merge_task",
        r#"{"id": 999}"#,
        &[Scope::Approve],
        "post /tasks/999/merge",
    ),
    (
        "review_task",
        r#"{"id": 999, "attempt": 1, "text": "x"}"#,
        &[Scope::Approve],
        "",
    ),
    (
        "land_task",
        r#"{"id": 999}"#,
        &[Scope::Approve],
        "post /tasks/999/land",
    ),
    (
        "push_task",
        r#"{"id": 999}"#,
        &[Scope::Approve],
        "post /tasks/999/push",
    ),
];

#[tokio::test]
async fn p22_every_tool_needs_its_scopes() {
    let harness = Harness::new().await;
    let mut sets: Vec<Vec<Scope>> = Scope::ALL.iter().map(|scope| vec![*scope]).collect();
    sets.push(vec![Scope::Read, Scope::Work]);
    sets.push(Scope::ALL.to_vec());
    for scopes in sets {
        let token = harness
            .create_token(&format!("{scopes:?}"), &scopes, None)
            .await;
        let is_allowed = |needs: &[Scope]| needs.iter().all(|scope| scopes.contains(scope));
        let allowed = TOOLS.iter().filter(|(_, _, needs, _)| is_allowed(needs));
        let allowed: Vec<&str> = allowed.map(|(name, ..)| *name).collect();
        assert_eq!(harness.tools(&token).await, allowed, "{scopes:?}");
        for (name, arguments, needs, _) in TOOLS {
            let arguments = serde_json::from_str(arguments).unwrap();
            let result = harness.call(&token, name, arguments).await;
            if is_allowed(needs) {
                assert!(
                    !result.to_string().contains("needs the scope"),
                    "{name}: {result}"
                );
                continue;
            }
            let names: Vec<&str> = needs.iter().map(|scope| scope.as_str()).collect();
            let expected = format!(
                "{name} needs the scope {}, which this connection does not have",
                names.join(" and ")
            );
            assert_eq!(tool_error(&result), expected, "{scopes:?}");
        }
    }
}

#[tokio::test]
async fn p22_tool_and_route_need_the_same_scope() {
    let harness = Harness::new().await;
    for scope in Scope::ALL {
        let token = harness.create_token(scope.as_str(), &[scope], None).await;
        for (name, _, needs, route) in TOOLS.iter().filter(|(.., route)| !route.is_empty()) {
            let (method, path) = route.split_once(' ').unwrap();
            let method = method.to_uppercase();
            let response = harness
                .send_as(&token, &method, path, Some(&json!({})))
                .await;
            assert_eq!(
                response.status != 403,
                *needs == [scope],
                "{scope}: {name}: {response:?}"
            );
        }
    }
}

#[tokio::test]
async fn every_tool_and_every_field_is_described() {
    let harness = Harness::new().await;
    let listed = harness.mcp(harness.token(), "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), TOOLS.len());
    for tool in tools {
        assert!(tool["description"].as_str().unwrap().len() > 20, "{tool}");
        assert!(
            tool["title"].is_string() && tool["inputSchema"]["type"] == "object",
            "{tool}"
        );
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        for (name, field) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(field["description"].is_string(), "{name} of {tool}");
            assert!(field["type"].is_string(), "{name} of {tool}");
        }
    }
    let hints = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let hint = |key: &str| tool["annotations"][key].as_bool().unwrap();
        [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ]
        .map(hint)
    };
    for (name, _, needs, _) in TOOLS
        .iter()
        .filter(|(_, _, needs, _)| *needs == [Scope::Read])
    {
        assert_eq!(hints(name), [true, false, true, false], "{name}: {needs:?}");
    }
    for name in ["add_task", "retry_task", "answer_blocker"] {
        assert_eq!(hints(name), [false, false, false, false], "{name}");
    }
    for name in ["cancel_task", "merge_task", "decide_approval"] {
        assert_eq!(hints(name), [false, true, true, false], "{name}");
    }
    assert_eq!(hints("ask_agent"), [false, false, false, true]);
}

#[tokio::test]
async fn p22_resources_need_the_scope_read_and_a_visible_project() {
    let harness = Harness::new().await;
    let other = NewProject {
        name: "other".to_owned(),
        root: "/home/me/other".into(),
    };
    let other = harness.store.add_project(other).await.unwrap();
    let hidden = NewTask::new(other.id, "hidden");
    let hidden = harness
        .store
        .enqueue(vec![hidden])
        .await
        .unwrap()
        .remove(0)
        .task
        .id;
    let uri = json!({ "uri": format!("windlass://task/{hidden}/log") });

    let blind = harness
        .create_token("blind", &[Scope::Work, Scope::Approve], None)
        .await;
    for (method, list) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let listed = harness.mcp(&blind, method, json!({})).await;
        assert_eq!(listed["result"][list], json!([]), "{listed}");
    }
    let refused = harness.mcp(&blind, "resources/read", uri.clone()).await;
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("needs the scope read")
    );

    let narrow = harness
        .create_token("narrow", &Scope::ALL, Some(vec![harness.project.id]))
        .await;
    let missing = harness.mcp(&narrow, "resources/read", uri).await;
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    for (tool, arguments) in [
        ("show_task", json!({ "id": hidden })),
        ("wait_for_task", json!({ "id": hidden })),
        ("diff_task", json!({ "id": hidden })),
        ("cancel_task", json!({ "id": hidden })),
        ("merge_task", json!({ "id": hidden })),
        ("add_task", json!({ "title": "x", "project_id": other.id })),
    ] {
        tool_error(&harness.call(&narrow, tool, arguments).await);
    }
    let all = json!({ "all_projects": true });
    let listed = harness.call(&narrow, "list_tasks", all).await;
    assert_eq!(listed["structuredContent"]["tasks"], json!([]));
    let foreign = harness
        .create_token("foreign", &Scope::ALL, Some(vec![other.id]))
        .await;
    let ask = harness
        .call(&foreign, "ask_agent", json!({ "prompt": "x" }))
        .await;
    assert!(tool_error(&ask).contains("cannot see"), "{ask}");
}

#[tokio::test]
async fn p22_guard_protects_the_endpoint() {
    let harness = Harness::new().await;
    let list = message("tools/list", json!({}));
    let request = |host: &str, origin: Option<&str>, token: &str| {
        let mut request = Request::new("POST", "/mcp")
            .header("Host", host)
            .header("Authorization", &format!("Bearer {token}"))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        if let Some(origin) = origin {
            request = request.header("Origin", origin);
        }
        request.with(&list.to_string())
    };
    let (host, token) = (harness.host(), harness.token());
    let own = format!("http://{host}");
    for (host, origin, token, status, code) in [
        ("evil.example", None, token, 403, "foreign_host"),
        (
            host.as_str(),
            Some("http://evil.example"),
            token,
            403,
            "foreign_origin",
        ),
        (host.as_str(), Some("null"), token, 403, "foreign_origin"),
        (host.as_str(), None, "wrong", 401, "unauthorized"),
    ] {
        let response = harness.send(request(host, origin, token)).await;
        assert_eq!((response.status, response.code().as_str()), (status, code));
    }
    let allowed = harness.send(request(&host, Some(&own), token)).await;
    assert_eq!(allowed.status, 200, "{allowed:?}");
    for method in ["GET", "DELETE"] {
        let bare = Request::new(method, "/mcp").header("Host", &host);
        let response = harness.send(bare.bytes()).await;
        assert_eq!(response.status, 401, "{method}: {response:?}");
        let authorized = Request::new(method, "/mcp")
            .header("Host", &host)
            .header("Authorization", &format!("Bearer {token}"));
        let response = harness.send(authorized.bytes()).await;
        assert_eq!(response.status, 405, "{method}: {response:?}");
    }
}

#[tokio::test]
async fn p22_revoked_token_ends_at_once() {
    let harness = Harness::new().await;
    let token = harness.create_token("agent", &[Scope::Read], None).await;
    assert!(!harness.tools(&token).await.is_empty());
    let tokens = harness.access.tokens().await.unwrap();
    let deleted = harness.send(
        harness
            .request("DELETE", &format!("/tokens/{}", tokens[0].id))
            .bytes(),
    );
    assert_eq!(deleted.await.status, 200);
    let request = http_request(&harness, &token, &message("tools/list", json!({})));
    assert_eq!(harness.send(request).await.status, 401);
}
