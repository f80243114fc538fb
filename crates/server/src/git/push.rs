//! A push: its commands are read and checked before git gets any of it, and its report is read before the client gets it.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use windlass_tasks::Scope;

use super::body::BodyProblem;
use super::host::{GitRequestBody, GitResponseBody};
use super::pkt_line::{CommandReader, PushCommands};
use crate::access::Caller;
use crate::audit::AuditNote;
use crate::error::ApiError;

/// The maximum size of the report of git.
const MAX_REPORT_BYTES: usize = 4 << 20;

/// A push whose commands have been read.
pub(super) struct PendingPush {
    commands: PushCommands,
    /// The whole body again: the commands as they were understood, and the objects.
    pub(super) input: GitRequestBody,
}

impl PendingPush {
    /// Reads the commands from the beginning of a body.
    pub(super) async fn read(
        mut body: GitRequestBody,
        problem: &BodyProblem,
    ) -> Result<Self, ApiError> {
        let mut reader = CommandReader::default();
        loop {
            let Some(part) = body.next().await else {
                return Err(ApiError::bad_request("the push ends before its objects"));
            };
            let Ok(part) = part else {
                problem.check()?;
                return Err(ApiError::bad_request("the body is incomplete"));
            };
            let is_done = reader.push(&part).map_err(|problem| {
                ApiError::bad_request(format!("the push cannot be read: it has {problem}"))
            })?;
            if is_done {
                break;
            }
        }
        let (commands, read) = reader.finish();
        let read = futures::stream::iter([Ok(Bytes::from(read))]);
        Ok(Self {
            commands,
            input: read.chain(body).boxed(),
        })
    }

    /// Returns `true` if nothing is to be moved: a client asks so whether it may push.
    pub(super) fn is_empty(&self) -> bool {
        self.commands.updates.is_empty()
    }

    /// Notes in the audit log what is to be moved.
    pub(super) fn note(&self, note: &AuditNote) {
        note.set_subject(self.commands.summary());
    }

    /// Returns the response to a push that the caller may not make. The whole body is read before, because git reads no
    /// response until it has sent everything.
    pub(super) async fn refuse(mut self, caller: &Caller) -> Body {
        let scope = Scope::Approve;
        let other = self
            .commands
            .updates
            .iter()
            .find(|update| !update.is_of_task());
        let name = other.map(|update| update.name.as_str()).unwrap_or_default();
        let sentence = format!(
            "the token {:?} does not have the scope {scope}, which moving {name} needs: without it, only \
             refs/heads/windlass/ and kept changes of tasks can be pushed; nothing was moved",
            caller.name
        );
        let reason = format!("the scope {scope} is needed");
        let report = self.commands.refusal(&sentence, &reason);
        while let Some(Ok(_)) = self.input.next().await {}
        Body::from(report)
    }

    /// Returns `true` if the push moves nothing but refs of tasks.
    pub(super) fn is_of_tasks(&self) -> bool {
        self.commands
            .updates
            .iter()
            .all(|update| update.is_of_task())
    }

    /// Splits off the body, for git.
    pub(super) fn start(self) -> (PushCommands, GitRequestBody) {
        (self.commands, self.input)
    }
}

/// Reads the report of git, and notes in the audit log if something was not moved.
pub(super) async fn read_report(
    commands: &PushCommands,
    mut output: GitResponseBody,
    note: &AuditNote,
) -> Result<Bytes, ApiError> {
    let mut report = BytesMut::new();
    while let Some(part) = output.next().await {
        report.extend_from_slice(&part.map_err(|error| ApiError::internal(error.to_string()))?);
        if report.len() > MAX_REPORT_BYTES {
            return Err(ApiError::internal("the report of git is too large"));
        }
    }
    if !commands.is_done(&report) {
        note.set_result("rejected");
    }
    Ok(report.freeze())
}
