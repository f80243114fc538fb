//! Passes permission requests to the chat, which asks the user between the events of the turn.

use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use windlass_core::{Approver, PermissionRequest};

/// Maximum number of requests that wait.
const MAX_WAITING: usize = 16;

/// A permission request that waits for a decision.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) request: PermissionRequest,
    /// Takes the ID of the chosen option; dropping it rejects the request.
    pub(super) decision: oneshot::Sender<Option<String>>,
}

/// The approver of a chat.
#[derive(Debug)]
pub(super) struct ChatApprover {
    questions: mpsc::Sender<Question>,
}

/// Creates an approver and the receiver of its questions.
pub(super) fn channel() -> (ChatApprover, mpsc::Receiver<Question>) {
    let (questions, receiver) = mpsc::channel(MAX_WAITING);
    (ChatApprover { questions }, receiver)
}

impl Approver for ChatApprover {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let (decision, decided) = oneshot::channel();
            self.questions
                .send(Question { request, decision })
                .await
                .ok()?;
            decided.await.ok()?
        })
    }
}

/// Returns the option that an answer chooses: by its number, or y and n for once.
pub(super) fn chosen(request: &PermissionRequest, answer: &str) -> Option<String> {
    let answer = answer.trim().to_ascii_lowercase();
    let option = match answer.as_str() {
        "y" | "yes" => request.option_for(true),
        "n" | "no" => request.option_for(false),
        _ => {
            let number: usize = answer.parse().ok()?;
            request.options.get(number.checked_sub(1)?)
        }
    };
    option.map(|option| option.id.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use windlass_core::{PermissionKind, PermissionOption};

    use super::*;

    #[test]
    fn answers_choose_options() {
        let option = |id: &str, kind| PermissionOption {
            id: id.to_owned(),
            kind,
            label: id.to_owned(),
        };
        let request = PermissionRequest {
            id: "1".to_owned(),
            agent: "codex".to_owned(),
            tool: "shell".to_owned(),
            kind: None,
            paths: Vec::new(),
            input: Value::Null,
            options: vec![
                option("always", PermissionKind::AllowAlways),
                option("once", PermissionKind::AllowOnce),
                option("reject", PermissionKind::RejectOnce),
            ],
        };
        let choose = |answer| chosen(&request, answer);
        for (answer, expected) in [
            (" 1\n", Some("always")),
            ("2", Some("once")),
            ("Y", Some("once")),
            ("no", Some("reject")),
            ("0", None),
            ("4", None),
            ("", None),
            ("-1", None),
            ("maybe", None),
        ] {
            assert_eq!(choose(answer).as_deref(), expected, "{answer:?}");
        }
    }
}
