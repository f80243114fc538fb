//! Converts an agent's permission requests, and answers them.

use std::path::Path;

use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, ToolKind as AcpKind,
};
use windlass_core::permission::rule_path;
use windlass_core::{PermissionKind, PermissionOption, PermissionRequest, ToolKind};

use super::tool::ToolState;

/// Converts a permission request for this tool.
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
            // An unknown option is not an approval.
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

/// Returns the kind of the tool, as the agent reports it. The sandbox does not rely on it.
fn kind(kind: AcpKind) -> Option<ToolKind> {
    match kind {
        AcpKind::Read | AcpKind::Search | AcpKind::Think => Some(ToolKind::Read),
        AcpKind::Edit | AcpKind::Delete | AcpKind::Move => Some(ToolKind::Write),
        AcpKind::Execute => Some(ToolKind::Execute),
        _ => None,
    }
}

/// A permission request that waits for its answer. Dropping it answers `cancelled`, so that no agent is left
/// waiting.
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

    /// Answers with the option of this ID.
    pub(super) fn respond_with(mut self, option: String) {
        if let Some(responder) = self.responder.take() {
            let selected = SelectedPermissionOutcome::new(option);
            respond(responder, RequestPermissionOutcome::Selected(selected));
        }
    }

    /// Waits until the agent withdraws the request.
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
        tracing::debug!("an agent exited before its permission request was answered");
    }
}
