//! Intents resolved to the tools that real agents offer, in their format.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use windlass_scripted::script::IntentKind;

use super::models::{post, serve};

const INTENTS: &str = r#"
    {"shell": {"command": "ls"}},
    {"write_file": {"path": "a.txt", "content": "it's\nnew\n"}},
    {"edit_file": {"path": "a.txt", "old": "new", "new": "old"}},
    {"read_file": {"path": "a.txt"}}"#;

/// Returns the calls for an agent with these tools and instructions, one per line.
async fn calls(tools: Value, instructions: &str, intents: &str) -> String {
    let model = serve(&format!(r#"{{"turns": [{{"answer": [{intents}]}}]}}"#)).await;
    let body = json!({
        "model": "m", "instructions": instructions, "input": "go", "tools": tools,
    });
    let response = post(&model, "/v1/responses", &body).await.json();
    if let Some(problem) = response["error"]["message"].as_str() {
        return problem.to_owned();
    }
    let items = response["output"].as_array().unwrap();
    let lines = items.iter().map(|item| {
        let input = item.get("arguments").unwrap_or(&item["input"]);
        let namespace = item["namespace"].as_str().map(|name| format!("{name} "));
        format!(
            "{}{} {}\n",
            namespace.unwrap_or_default(),
            item["name"].as_str().unwrap(),
            input.as_str().unwrap()
        )
    });
    lines.collect()
}

async fn check(tools: Value, instructions: &str, expected: Expect) {
    expected.assert_eq(&calls(tools, instructions, INTENTS).await);
}

/// Returns a function with these required properties; the text after `=` is the description.
fn tool(name: &str, properties: &[&str]) -> Value {
    let mut list = serde_json::Map::new();
    let mut required = Vec::new();
    for property in properties {
        let (key, about) = property.split_once('=').unwrap_or((property, ""));
        list.insert(
            key.to_owned(),
            json!({ "type": "string", "description": about }),
        );
        required.push(key);
    }
    json!({ "type": "function", "name": name, "strict": false,
        "parameters": { "type": "object", "properties": list, "required": required } })
}

#[tokio::test]
async fn claude_code_gets_absolute_paths() {
    let path = "file_path=The absolute path to the file";
    let tools = json!([
        tool("Bash", &["command"]),
        tool("Edit", &[path, "old_string", "new_string"]),
        tool("Read", &[path]),
        tool("Write", &[path, "content"]),
    ]);
    check(
        tools,
        "# Environment\n - Primary working directory: /w/space\n - Platform: linux",
        expect![[r#"
            Bash {"command":"ls"}
            Write {"file_path":"/w/space/a.txt","content":"it's\nnew\n"}
            Edit {"file_path":"/w/space/a.txt","old_string":"new","new_string":"old"}
            Read {"file_path":"/w/space/a.txt"}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn gemini_gets_an_instruction() {
    let tools = json!([
        tool("run_shell_command", &["command"]),
        tool(
            "replace",
            &["file_path", "instruction", "old_string", "new_string"]
        ),
        tool("read_file", &["file_path"]),
        tool("write_file", &["file_path", "content"]),
    ]);
    check(
        tools,
        "- **Workspace Directories:**\n  - /w\n",
        expect![[r#"
            run_shell_command {"command":"ls"}
            write_file {"file_path":"a.txt","content":"it's\nnew\n"}
            replace {"file_path":"a.txt","old_string":"new","new_string":"old","instruction":"As the script says."}
            read_file {"file_path":"a.txt"}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn codex_edits_with_patches_and_reads_with_its_shell() {
    let tools =
        json!([tool("exec_command", &["cmd"]), { "type": "custom", "name": "apply_patch" }]);
    check(
        tools,
        "",
        expect![[r#"
            exec_command {"cmd":"ls"}
            apply_patch *** Begin Patch
            *** Add File: a.txt
            +it's
            +new
            *** End Patch

            apply_patch *** Begin Patch
            *** Update File: a.txt
            @@
            -new
            +old
            *** End Patch

            exec_command {"cmd":"cat -- 'a.txt'"}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn shell_alone_is_sufficient() {
    let mut shell = tool("shell", &["command"]);
    shell["parameters"]["properties"]["command"]["type"] = "array".into();
    check(
        json!([shell]),
        "",
        expect![[r#"
            shell {"command":["bash","-lc","ls"]}
            shell {"command":["bash","-lc","printf %s 'it'\\''s\nnew\n' > 'a.txt'"]}
            shell {"command":["bash","-lc","OLD='new' NEW='old' perl -0777 -pi -e '$n += s/\\Q$ENV{OLD}\\E/$ENV{NEW}/; END { $? = $n ? 0 : 1 }' -- 'a.txt'"]}
            shell {"command":["bash","-lc","cat -- 'a.txt'"]}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn unknown_tools_are_matched_by_their_schema() {
    let tools = json!([
        tool("view_image", &["path"]),
        tool("do_shell_thing", &["script"]),
        tool("put", &["filename", "data"]),
        tool("swap", &["path", "old_text", "new_text"]),
        tool("file_reader", &["path"]),
    ]);
    check(
        tools,
        "",
        expect![[r#"
            do_shell_thing {"script":"ls"}
            put {"filename":"a.txt","data":"it's\nnew\n"}
            swap {"path":"a.txt","old_text":"new","new_text":"old"}
            file_reader {"path":"a.txt"}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn missing_tool_is_reported() {
    let answer = calls(json!([tool("think", &["thought"])]), "", INTENTS).await;
    assert_eq!(
        answer,
        "turn 1 cannot be played: the request offers no tool for intent `shell`; offered: think"
    );
}

#[tokio::test]
async fn mcp_tools_are_called_by_each_agents_name() {
    let intent = r#"{"mcp": {"server": "files", "tool": "list", "arguments": {"in": "."}}}"#;
    for name in [
        "mcp__files__list",
        "mcp_files_list",
        "files_list",
        "files-list",
    ] {
        let answer = calls(json!([tool("x", &[]), tool(name, &[])]), "", intent).await;
        assert_eq!(answer, format!("{name} {{\"in\":\".\"}}\n"));
    }
    let answer = calls(json!([tool("exec_command", &["cmd"])]), "", intent).await;
    assert_eq!(answer, "mcp__files list {\"in\":\".\"}\n");
}

#[tokio::test]
async fn structured_answer_uses_the_agents_tool() {
    let answer = calls(
        json!([tool("StructuredOutput", &[])]),
        "",
        r#"{"json": {"a": 1}}"#,
    )
    .await;
    assert_eq!(answer, "StructuredOutput {\"a\":1}\n");
}

#[test]
fn tool_name_determines_the_intent() {
    assert!(IntentKind::Shell.has_tool("exec_command"));
    assert!(
        IntentKind::WriteFile.has_tool("apply_patch")
            && IntentKind::EditFile.has_tool("apply_patch")
    );
    assert!(!IntentKind::ReadFile.has_tool("Bash"));
    assert_eq!(
        IntentKind::from_name("edit_file"),
        Some(IntentKind::EditFile)
    );
}
