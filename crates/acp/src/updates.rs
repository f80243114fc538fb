//! Converts the events of a turn to session updates. Pure.

use std::collections::HashMap;

use agent_client_protocol::v1::schema::{
    Plan, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use serde_json::Value;
use windlass_core::{AgentEvent, PermissionRequest};

use crate::content::{message, output_text, plan_entry, thought};
use crate::paths::Paths;
use crate::tool_view;

/// Maximum number of open tools.
const MAX_TOOLS: usize = 1024;

/// Converts the events of one turn.
#[derive(Debug)]
pub(crate) struct UpdateWriter {
    paths: Paths,
    /// Makes the IDs of tools unique in the session: agents use some of them again in every turn.
    prefix: String,
    tools: HashMap<String, OpenTool>,
    /// Tool calls that the client knows from a permission request, and that have not started.
    announced: Vec<(PermissionRequest, String)>,
    calls: u64,
    has_text: bool,
}

/// A tool call that has not ended.
#[derive(Debug, Clone)]
pub(crate) struct OpenTool {
    /// Its ID for the client.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
    has_diff: bool,
}

impl UpdateWriter {
    /// Creates a writer for the turn of this number.
    pub(crate) fn new(turn: u64, paths: Paths) -> Self {
        Self {
            paths,
            prefix: format!("turn-{turn}"),
            tools: HashMap::new(),
            announced: Vec::new(),
            calls: 0,
            has_text: false,
        }
    }

    /// Returns the paths of the session.
    pub(crate) fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Replaces the paths, once the directory of a task is known.
    pub(crate) fn set_paths(&mut self, paths: Paths) {
        self.paths = paths;
    }

    /// Returns an ID for something that is shown as a tool call.
    pub(crate) fn new_id(&mut self) -> String {
        self.calls += 1;
        format!("{}-{}", self.prefix, self.calls)
    }

    /// Returns the open tool that a permission request is about.
    pub(crate) fn tool_of(&self, request: &PermissionRequest) -> Option<&OpenTool> {
        let mut tools = self.tools.iter();
        let found = tools.find(|(id, tool)| is_about(request, id, &tool.name, &tool.input));
        found.map(|(_, tool)| tool)
    }

    /// Returns the ID of the tool call that a permission request announces: some agents ask before the tool starts.
    pub(crate) fn announce(&mut self, request: &PermissionRequest) -> String {
        let id = self.new_id();
        if self.announced.len() < MAX_TOOLS {
            self.announced.push((request.clone(), id.clone()));
        }
        id
    }

    /// Starts a new answer: the result of the next turn is shown if the turn streams no text.
    pub(crate) fn start_answer(&mut self) {
        self.has_text = false;
    }

    /// Converts one event. Terminal events end the turn and are answered by the caller, except for an answer that
    /// was not streamed.
    pub(crate) fn updates(&mut self, event: &AgentEvent) -> Vec<SessionUpdate> {
        match event {
            AgentEvent::Text(text) => {
                self.has_text = true;
                vec![message(text)]
            }
            AgentEvent::Thought(text) => vec![thought(text)],
            AgentEvent::Plan { entries } => {
                let entry =
                    |entry: &windlass_core::PlanEntry| plan_entry(&entry.step, entry.status);
                vec![SessionUpdate::Plan(Plan::new(
                    entries.iter().map(entry).collect(),
                ))]
            }
            AgentEvent::ToolStart { id, name, input } => vec![self.start_tool(id, name, input)],
            AgentEvent::ToolProgress { id, update } => {
                self.progress(id, update).into_iter().collect()
            }
            AgentEvent::ToolEnd {
                id,
                name,
                output,
                success,
                ..
            } => self.end_tool(id, name, output, *success),
            AgentEvent::Result { text, .. } if !self.has_text && !text.is_empty() => {
                vec![message(text)]
            }
            AgentEvent::Custom { kind, payload } => custom(kind, payload).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn start_tool(&mut self, id: &str, name: &str, input: &Value) -> SessionUpdate {
        let view = tool_view::view(name, input, &self.paths);
        let mut announced = self.announced.iter();
        let announced = announced.position(|(request, _)| is_about(request, id, name, input));
        let client_id = match announced {
            Some(at) => self.announced.remove(at).1,
            None => self.new_id(),
        };
        let tool = OpenTool {
            id: client_id,
            name: name.to_owned(),
            input: input.clone(),
            has_diff: !view.diffs.is_empty(),
        };
        let call = ToolCall::new(tool.id.clone(), view.title)
            .name(name.to_owned())
            .kind(view.kind)
            .status(ToolCallStatus::InProgress)
            .content(view.diffs)
            .locations(view.locations)
            .raw_input(Some(input.clone()).filter(|input| !input.is_null()));
        if self.tools.len() < MAX_TOOLS {
            self.tools.insert(id.to_owned(), tool);
        }
        SessionUpdate::ToolCall(call)
    }

    /// Converts the progress of a tool: an update of another ACP agent is passed on, output is shown at the end.
    fn progress(&mut self, id: &str, update: &Value) -> Option<SessionUpdate> {
        let tool = self.tools.get_mut(id)?;
        let fields: ToolCallUpdateFields = serde_json::from_value(update.clone()).ok()?;
        let content = fields.content.filter(|content| !content.is_empty());
        let is_diff = |content: &ToolCallContent| matches!(content, ToolCallContent::Diff(_));
        tool.has_diff |= content.iter().flatten().any(is_diff);
        if content.is_none() && fields.locations.is_none() && fields.title.is_none() {
            return None;
        }
        let fields = ToolCallUpdateFields::new()
            .title(fields.title)
            .content(content)
            .locations(fields.locations);
        Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(
            tool.id.clone(),
            fields,
        )))
    }

    fn end_tool(
        &mut self,
        id: &str,
        name: &str,
        output: &Value,
        success: bool,
    ) -> Vec<SessionUpdate> {
        let Some(tool) = self.tools.remove(id) else {
            tracing::debug!(tool = name, "a tool ended that is not open");
            return Vec::new();
        };
        let status = if success {
            ToolCallStatus::Completed
        } else {
            ToolCallStatus::Failed
        };
        let text = output_text(output);
        // A new content would replace the diff.
        let keeps_diff = tool.has_diff && success;
        let content = (!text.is_empty() && !keeps_diff).then(|| vec![ToolCallContent::from(text)]);
        let fields = ToolCallUpdateFields::new()
            .status(status)
            .content(content)
            .raw_output(Some(output.clone()).filter(|output| !output.is_null()));
        vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(
            tool.id, fields,
        ))]
    }

    /// Ends the tools that are still open, or were announced and did not start.
    pub(crate) fn end_open_tools(&mut self) -> Vec<SessionUpdate> {
        let failed = || ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
        let announced = self.announced.drain(..).map(|(_, id)| id);
        let open = self.tools.drain().map(|(_, tool)| tool.id);
        announced
            .chain(open)
            .map(|id| SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, failed())))
            .collect()
    }
}

/// Returns `true` if a permission request is about this tool call: it names the call's ID, or has the same input.
fn is_about(request: &PermissionRequest, id: &str, name: &str, input: &Value) -> bool {
    let numbered = request.id.strip_prefix(id);
    request.id == id
        || numbered.is_some_and(|rest| rest.starts_with('#'))
        || request.input["item"].as_str() == Some(id)
        || (name == request.tool && *input == request.input)
}

/// Converts events that only some agents have: the updates of other ACP agents are passed on, and a retry is shown,
/// because nothing else happens for a while.
fn custom(kind: &str, payload: &Value) -> Option<SessionUpdate> {
    match kind {
        "usage_update" => {
            let update = serde_json::from_value(payload.clone()).ok()?;
            Some(SessionUpdate::UsageUpdate(update))
        }
        "retry" => {
            let text = |key: &str| payload[key].as_str().unwrap_or_default();
            let line = format!(
                "The agent tries again: {} {}\n",
                text("code"),
                text("message")
            );
            Some(thought(&line))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::{Expect, expect};
    use serde_json::json;
    use windlass_core::{Error, PlanStatus};

    use super::*;

    fn check(events: &[AgentEvent], expected: Expect) {
        let mut writer = UpdateWriter::new(3, Paths::in_dir(Path::new("/w")));
        let updates = events.iter().flat_map(|event| writer.updates(event));
        let lines: Vec<String> = updates
            .map(|update| serde_json::to_string(&update).unwrap())
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn text_thoughts_and_plans() {
        check(
            &[
                AgentEvent::Thought("Hm.".to_owned()),
                AgentEvent::Text("Hello".to_owned()),
                AgentEvent::Plan {
                    entries: vec![windlass_core::PlanEntry {
                        step: "Look".to_owned(),
                        status: PlanStatus::InProgress,
                    }],
                },
                AgentEvent::result("Hello"),
            ],
            expect![[r#"
                {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."}}
                {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello"}}
                {"sessionUpdate":"plan","entries":[{"content":"Look","priority":"medium","status":"in_progress"}]}"#]],
        );
    }

    #[test]
    fn answer_that_was_not_streamed_is_sent_at_the_end() {
        check(
            &[
                AgentEvent::result("Hello"),
                AgentEvent::from(Error::Cancelled),
            ],
            expect![[
                r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello"}}"#
            ]],
        );
    }

    #[test]
    fn edit_has_a_diff_and_a_command_has_output() {
        let start = |id: &str, name: &str, input| AgentEvent::ToolStart {
            id: id.to_owned(),
            name: name.to_owned(),
            input,
        };
        let end = |id: &str, output, success| AgentEvent::ToolEnd {
            id: id.to_owned(),
            name: "tool".to_owned(),
            output,
            success,
            duration_ms: 1,
        };
        check(
            &[
                start(
                    "a",
                    "Edit",
                    json!({ "file_path": "/w/a", "old_string": "1", "new_string": "2" }),
                ),
                end("a", json!("ok"), true),
                start("a", "Bash", json!({ "command": "ls" })),
                AgentEvent::ToolProgress {
                    id: "a".to_owned(),
                    update: json!({ "output": "part" }),
                },
                end("a", json!({ "output": "x\n", "exit_code": 1 }), false),
                end("unknown", json!("ok"), true),
            ],
            expect![[r#"
                {"sessionUpdate":"tool_call","toolCallId":"turn-3-1","title":"Edit a","name":"Edit","kind":"edit","status":"in_progress","content":[{"type":"diff","path":"/w/a","oldText":"1","newText":"2"}],"locations":[{"path":"/w/a"}],"rawInput":{"file_path":"/w/a","old_string":"1","new_string":"2"}}
                {"sessionUpdate":"tool_call_update","toolCallId":"turn-3-1","status":"completed","rawOutput":"ok"}
                {"sessionUpdate":"tool_call","toolCallId":"turn-3-2","title":"ls","name":"Bash","kind":"execute","status":"in_progress","rawInput":{"command":"ls"}}
                {"sessionUpdate":"tool_call_update","toolCallId":"turn-3-2","status":"failed","content":[{"type":"content","content":{"type":"text","text":"x\n"}}],"rawOutput":{"output":"x\n","exit_code":1}}"#]],
        );
    }

    #[test]
    fn updates_of_other_acp_agents_are_passed_on() {
        check(
            &[
                AgentEvent::ToolStart {
                    id: "a".to_owned(),
                    name: "edit".to_owned(),
                    input: json!({ "title": "Edit" }),
                },
                AgentEvent::ToolProgress {
                    id: "a".to_owned(),
                    update: json!({ "content": [{ "type": "diff", "path": "/w/a", "oldText": "1", "newText": "2" }] }),
                },
                AgentEvent::custom("usage_update", json!({ "used": 5, "size": 10 })),
                AgentEvent::custom("retry", json!({ "code": "RateLimited", "message": "wait" })),
                AgentEvent::custom("unparsed", json!("noise")),
            ],
            expect![[r#"
                {"sessionUpdate":"tool_call","toolCallId":"turn-3-1","title":"Edit","name":"edit","kind":"edit","status":"in_progress","rawInput":{"title":"Edit"}}
                {"sessionUpdate":"tool_call_update","toolCallId":"turn-3-1","content":[{"type":"diff","path":"/w/a","oldText":"1","newText":"2"}]}
                {"sessionUpdate":"usage_update","used":5,"size":10}
                {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"The agent tries again: RateLimited wait\n"}}"#]],
        );
    }

    #[test]
    fn open_tools_fail_at_the_end() {
        let mut writer = UpdateWriter::new(1, Paths::default());
        let start = AgentEvent::ToolStart {
            id: "a".to_owned(),
            name: "Bash".to_owned(),
            input: Value::Null,
        };
        writer.updates(&start);
        assert_eq!(writer.end_open_tools().len(), 1);
        assert_eq!(writer.end_open_tools().len(), 0);
    }
}
