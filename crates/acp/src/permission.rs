//! Forwards permission requests to the client, and returns its answers.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use windlass_core::{Approver, PermissionKind, PermissionRequest};

use crate::link::ClientLink;
use crate::tool_view;
use crate::updates::UpdateWriter;

/// How long a request waits for the events before it, which are on another way to the client. A composite may hold
/// its events back, so this does not last forever.
const EVENT_WAIT: Duration = Duration::from_millis(200);
/// Maximum number of requests of one turn that are remembered.
const MAX_SEEN: usize = 1024;

/// The writer of a turn, shared by its events and its permission requests.
#[derive(Debug, Clone)]
pub(crate) struct TurnWriter {
    pub(crate) writer: Arc<Mutex<UpdateWriter>>,
    seen: Arc<Mutex<Vec<String>>>,
    changed: Arc<Notify>,
}

impl TurnWriter {
    pub(crate) fn new(writer: UpdateWriter) -> Self {
        Self {
            writer: Arc::new(Mutex::new(writer)),
            seen: Arc::default(),
            changed: Arc::default(),
        }
    }

    /// Records that the event of a permission request was processed, and so was every event before it.
    pub(crate) fn mark_seen(&self, id: &str) {
        let mut seen = self.seen.lock();
        if seen.len() < MAX_SEEN {
            seen.push(id.to_owned());
        }
        self.changed.notify_waiters();
    }

    async fn wait_seen(&self, id: &str) {
        let is_seen = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if self.seen.lock().iter().any(|seen| seen == id) {
                    return;
                }
                changed.await;
            }
        };
        let _ = tokio::time::timeout(EVENT_WAIT, is_seen).await;
    }
}

/// The approver of a session: it asks the client.
#[derive(Debug)]
pub(crate) struct ClientApprover {
    pub(crate) link: ClientLink,
    pub(crate) session: String,
    /// The writer of the running turn.
    pub(crate) turn: Arc<Mutex<Option<TurnWriter>>>,
}

impl Approver for ClientApprover {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let turn = self.turn.lock().clone()?;
            turn.wait_seen(&request.id).await;
            let question = {
                let mut writer = turn.writer.lock();
                question(&self.session, &request, &mut writer)
            };
            let response = self.link.request(question).await.ok()?;
            chosen(response.outcome)
        })
    }
}

/// Converts a permission request, for the tool call that it is about.
fn question(
    session: &str,
    request: &PermissionRequest,
    writer: &mut UpdateWriter,
) -> RequestPermissionRequest {
    let tool = writer.tool_of(request).cloned();
    // The input of the request may be less than that of the tool.
    let input = match &tool {
        Some(tool) if request.input.get("item").is_some() => &tool.input,
        _ => &request.input,
    };
    let view = tool_view::view(&request.tool, input, writer.paths());
    let mut fields = ToolCallUpdateFields::new()
        .title(view.title)
        .kind(view.kind)
        .locations(view.locations)
        .raw_input(input.clone());
    if !view.diffs.is_empty() {
        fields = fields.content(view.diffs);
    }
    let id = match tool {
        Some(tool) => tool.id,
        None => {
            fields = fields.status(ToolCallStatus::Pending);
            writer.announce(request)
        }
    };
    let options = request.options.iter().map(option).collect();
    RequestPermissionRequest::new(session.to_owned(), ToolCallUpdate::new(id, fields), options)
}

fn option(option: &windlass_core::PermissionOption) -> PermissionOption {
    let kind = match option.kind {
        PermissionKind::AllowOnce => PermissionOptionKind::AllowOnce,
        PermissionKind::AllowAlways => PermissionOptionKind::AllowAlways,
        PermissionKind::RejectAlways => PermissionOptionKind::RejectAlways,
        // An unknown option is not an approval.
        _ => PermissionOptionKind::RejectOnce,
    };
    PermissionOption::new(option.id.clone(), option.label.clone(), kind)
}

/// Returns the option that the client chose.
fn chosen(outcome: RequestPermissionOutcome) -> Option<String> {
    match outcome {
        RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.0.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;
    use windlass_core::AgentEvent;

    use super::*;
    use crate::paths::Paths;

    fn request(id: &str, tool: &str, input: serde_json::Value) -> PermissionRequest {
        let option = |id: &str, kind| windlass_core::PermissionOption {
            id: id.to_owned(),
            kind,
            label: id.to_owned(),
        };
        PermissionRequest {
            id: id.to_owned(),
            tool: tool.to_owned(),
            input,
            options: vec![
                option("yes", PermissionKind::AllowOnce),
                option("no", PermissionKind::RejectOnce),
            ],
            ..PermissionRequest::default()
        }
    }

    #[test]
    fn request_names_its_tool_call() {
        let mut writer = UpdateWriter::new(1, Paths::in_dir(Path::new("/w")));
        let changes =
            json!({ "changes": [{ "path": "/w/a", "kind": { "type": "add" }, "diff": "x" }] });
        for (id, name, input) in [
            ("call", "apply_patch", changes),
            ("toolu_1", "Edit", json!({ "file_path": "/w/a" })),
        ] {
            let (id, name) = (id.to_owned(), name.to_owned());
            writer.updates(&AgentEvent::ToolStart { id, name, input });
        }
        let mut asked = |id: &str, tool: &str, input| {
            let question = question("s", &request(id, tool, input), &mut writer);
            serde_json::to_value(question).unwrap()
        };
        // Codex names the item, Claude repeats the input, ACP agents and models use the tool's ID.
        let codex = asked(
            "0",
            "apply_patch",
            json!({ "paths": ["a"], "item": "call" }),
        );
        assert_eq!(codex["toolCall"]["toolCallId"], "turn-1-1");
        assert_eq!(codex["toolCall"]["content"][0]["newText"], "x");
        assert_eq!(codex["options"][1]["kind"], "reject_once");
        let claude = asked("r-1", "Edit", json!({ "file_path": "/w/a" }));
        assert_eq!(claude["toolCall"]["toolCallId"], "turn-1-2");
        assert_eq!(
            asked("call#1", "edit", json!({}))["toolCall"]["toolCallId"],
            "turn-1-1"
        );
        let other = asked("r-2", "Bash", json!({ "command": "ls" }));
        assert_eq!(other["toolCall"]["toolCallId"], "turn-1-3");
        assert_eq!(other["toolCall"]["title"], "ls");
    }

    #[tokio::test(start_paused = true)]
    async fn request_waits_for_its_event_but_not_for_ever() {
        let turn = TurnWriter::new(UpdateWriter::new(1, Paths::default()));
        turn.wait_seen("late").await;
        turn.mark_seen("a");
        let before = tokio::time::Instant::now();
        turn.wait_seen("a").await;
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
