//! Tools and resources of servers are listed, under the names that agents use.

use windlass_mcp::McpResource;

use super::support::{User, server, shell};

#[tokio::test]
async fn tools_are_listed_with_their_schemas() {
    let servers = User::new().demos(&["demo"]).await;
    let names: Vec<&str> = servers
        .tools()
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["add", "echo", "env", "fail", "flood", "slow"]);

    let echo = servers.find_tool("mcp__demo__echo").unwrap();
    assert_eq!(
        (echo.server.as_str(), echo.description.as_str()),
        ("demo", "Returns the text.")
    );
    assert_eq!(echo.input_schema["properties"]["text"]["type"], "string");
    assert_eq!(echo.input_schema["required"][0], "text");
    assert_eq!(echo.qualified_name(), "mcp__demo__echo");
    assert_eq!(servers.find_tool("mcp__demo__missing"), None);
}

#[tokio::test]
async fn resources_are_listed() {
    let servers = User::new().demos(&["demo"]).await;
    let resources = servers.resources("demo").unwrap();
    let uris: Vec<&str> = resources
        .iter()
        .map(|resource| resource.uri.as_str())
        .collect();
    assert_eq!(uris, ["demo://greeting", "demo://numbers", "demo://broken"]);
    let numbers = McpResource {
        uri: "demo://numbers".to_owned(),
        name: "numbers".to_owned(),
        description: String::new(),
        mime_type: Some("application/json".to_owned()),
    };
    assert_eq!(resources[1], numbers);
}

#[tokio::test]
async fn several_servers_run_together() {
    let user = User::new();
    let mut second = server("demo");
    second.name = "second".to_owned();
    let servers = user
        .connect(&[server("demo"), second, server("demo-empty")])
        .await
        .unwrap();
    assert_eq!(
        servers.names().collect::<Vec<_>>(),
        ["demo", "second", "demo-empty"]
    );
    assert_eq!(servers.tools().len(), 12);
    assert!(servers.find_tool("mcp__second__add").is_some());
    assert_eq!(servers.resources("demo-empty").unwrap(), []);
}

#[tokio::test]
async fn session_without_servers_connects() {
    let servers = User::new().connect(&[]).await.unwrap();
    assert_eq!((servers.tools(), servers.names().count()), (&[][..], 0));
}

#[tokio::test]
async fn all_pages_are_read() {
    let page = |id: u32, tool: &str, next: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"{tool}","inputSchema":{{}}}}]{next}}}}}"#
        )
    };
    let first = page(1, "one", r#","nextCursor":"more""#);
    let pages = shell("pages", &[&first, &page(2, "two", "")]);
    let servers = User::new().connect(&[pages]).await.unwrap();
    let names: Vec<String> = servers
        .tools()
        .iter()
        .map(|tool| tool.qualified_name())
        .collect();
    assert_eq!(names, ["mcp__pages__one", "mcp__pages__two"]);
}

#[tokio::test]
async fn p12_too_long_list_is_rejected() {
    let tools: Vec<String> = (0..1_001)
        .map(|number| format!(r#"{{"name":"t{number}","inputSchema":{{}}}}"#))
        .collect();
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{}]}}}}"#,
        tools.join(",")
    );
    let endless = shell("endless", &[&line]);
    let error = User::new().connect(&[endless]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "mcp server endless lists more than 1000 or 16 MiB of tools"
    );
}
