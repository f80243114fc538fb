//! Whether an agent may: its question in our words, and the answer in its own.

use std::path::Path;

use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, ToolKind as AcpKind,
};
use windlass_core::permission::rule_path;
use windlass_core::{PermissionKind, PermissionOption, PermissionRequest, ToolKind};

use super::tool::ToolState;

/// The question about this tool.
pub(super) fn permission_request(
    agent: &str,
    id: String,
    cwd: &Path,
    tool: &ToolState,
    request: &RequestPermissionRequest,
) -> PermissionRequest {
    let option = |option: &agent_client_protocol::v1::schema::PermissionOption| PermissionOption {
        id: option.option_id.0.to_string(),
        kind: match option.kind {
            PermissionOptionKind::AllowOnce => PermissionKind::AllowOnce,
            PermissionOptionKind::AllowAlways => PermissionKind::AllowAlways,
            PermissionOptionKind::RejectAlways => PermissionKind::RejectAlways,
            // What is not known is not a yes.
            _ => PermissionKind::RejectOnce,
        },
        label: option.name.clone(),
    };
    PermissionRequest {
        id,
        agent: agent.to_owned(),
        tool: tool.display_name(),
        kind: tool.kind.and_then(kind),
        paths: tool.paths.iter().map(|path| rule_path(cwd, path)).collect(),
        input: tool.input_or_title(),
        options: request.options.iter().map(option).collect(),
    }
}

/// What the tool does to the world, as the agent has it: our walls do not rely on it.
fn kind(kind: AcpKind) -> Option<ToolKind> {
    match kind {
        AcpKind::Read | AcpKind::Search | AcpKind::Think => Some(ToolKind::Read),
        AcpKind::Edit | AcpKind::Delete | AcpKind::Move => Some(ToolKind::Write),
        AcpKind::Execute => Some(ToolKind::Execute),
        _ => None,
    }
}

/// A question that waits for its answer. Dropped without one, it is answered `cancelled`: no agent is left waiting.
#[derive(Debug)]
pub(super) struct PendingPermission {
    responder: Option<Responder<RequestPermissionResponse>>,
}

impl PendingPermission {
    pub(super) fn new(responder: Responder<RequestPermissionResponse>) -> Self {
        Self {
            responder: Some(responder),
        }
    }

    /// Answers with the option of this id.
    pub(super) fn respond_with(mut self, option: String) {
        if let Some(responder) = self.responder.take() {
            let chosen = SelectedPermissionOutcome::new(option);
            respond(responder, RequestPermissionOutcome::Selected(chosen));
        }
    }

    /// Waits until the agent takes the question back.
    pub(super) fn cancelled(&self) -> impl Future<Output = ()> + Send + 'static {
        let cancellation = self.responder.as_ref().map(Responder::cancellation);
        async move {
            match cancellation {
                Some(cancellation) => cancellation.cancelled().await,
                None => std::future::pending().await,
            }
        }
    }
}

impl Drop for PendingPermission {
    fn drop(&mut self) {
        if let Some(responder) = self.responder.take() {
            respond(responder, RequestPermissionOutcome::Cancelled);
        }
    }
}

fn respond(responder: Responder<RequestPermissionResponse>, outcome: RequestPermissionOutcome) {
    if responder
        .respond(RequestPermissionResponse::new(outcome))
        .is_err()
    {
        tracing::debug!("an agent is gone before its question was answered");
    }
}
