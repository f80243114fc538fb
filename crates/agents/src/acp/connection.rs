//! One process of an agent, and the protocol spoken with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthMethod, Implementation, InitializeRequest, InitializeResponse,
    RequestPermissionRequest,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Client, ErrorCode as ErrorCodes, JsonRpcRequest, Lines};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use windlass_core::{Error, ErrorCode, Result};
use windlass_sandbox::Child;

use super::outcome;
use super::permission::PendingPermission;
use super::router::{SessionMessage, SessionRouter};
use super::stdio;

/// One running agent. Dropping it ends the whole tree.
#[derive(Debug)]
pub(super) struct Connection {
    /// The agent's name, for messages.
    pub(super) agent: &'static str,
    pub(super) routes: Arc<SessionRouter>,
    line: ConnectionTo<Agent>,
    driver: AbortOnDrop,
    /// Whether it takes no further turn.
    retired: AtomicBool,
    /// What it said about itself.
    pub(super) about: AgentInfo,
}

/// What an agent says of itself.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentInfo {
    pub(super) can: AgentCapabilities,
    pub(super) auth: Vec<AuthMethod>,
    pub(super) info: Option<Implementation>,
}

impl Connection {
    /// Speaks with a process that was just started.
    pub(super) async fn open(mut child: Child, agent: &'static str) -> Result<Self> {
        let routes = Arc::new(SessionRouter::new());
        let pipe = child.stdin.take().ok_or_else(|| {
            Error::agent(
                ErrorCode::BackendError,
                "there is no way to write to the agent",
            )
        })?;
        let transport = Lines::new(
            stdio::outgoing(pipe, Arc::clone(&routes)),
            stdio::incoming(child, Arc::clone(&routes)),
        );
        let (found, line) = oneshot::channel();
        let asked = Arc::clone(&routes);
        let driver = Client
            .v1()
            .name("windlass")
            .on_receive_request(
                async move |request: RequestPermissionRequest,
                            responder: Responder<_>,
                            line: ConnectionTo<Agent>| {
                    // The answer takes as long as a person does; nobody else shall wait for it.
                    let routes = Arc::clone(&asked);
                    line.spawn(async move {
                        let session = request.session_id.0.to_string();
                        let asked = PendingPermission::new(responder);
                        routes
                            .deliver(
                                &session,
                                SessionMessage::PermissionRequest(Box::new(request), asked),
                            )
                            .await;
                        Ok(())
                    })
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_with(transport, async move |line: ConnectionTo<Agent>| {
                let _ = found.send(line.clone());
                line.incoming_closed().await;
                Ok(())
            });
        let driver = tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(code = error.code.value(), "an agent's connection ended");
            }
        });
        let driver = AbortOnDrop(driver.abort_handle());
        let mut connection = Self {
            agent,
            line: line.await.map_err(|_| disconnected_error(agent))?,
            routes,
            driver,
            retired: AtomicBool::new(false),
            about: AgentInfo::default(),
        };
        connection.about = connection.initialize().await?;
        Ok(connection)
    }

    /// Agrees on the protocol: version 1, without files and terminals of ours.
    async fn initialize(&self) -> Result<AgentInfo> {
        let ours = Implementation::new("windlass", env!("CARGO_PKG_VERSION"));
        let request = InitializeRequest::new(ProtocolVersion::V1).client_info(ours);
        let other = |version: &str| {
            let problem = format!(
                "it speaks {version} of ACP, and not version 1: install another version of it"
            );
            crate::cli::program::unavailable(self.agent, problem)
        };
        let answer: InitializeResponse = match self.line.send_request(request).block_task().await {
            Ok(answer) => answer,
            // The protocol's crate found the version to be another.
            Err(error) if error.code == ErrorCodes::INVALID_REQUEST => {
                return Err(other("another version"));
            }
            Err(error) => return Err(self.request_error(error).await),
        };
        if answer.protocol_version != ProtocolVersion::V1 {
            return Err(other(&format!("version {}", answer.protocol_version)));
        }
        Ok(AgentInfo {
            can: answer.agent_capabilities,
            auth: answer.auth_methods,
            info: answer.agent_info,
        })
    }

    /// Asks, and says what a refusal means.
    pub(super) async fn request<R>(&self, request: R) -> Result<R::Response>
    where
        R: JsonRpcRequest,
        R::Response: Send,
    {
        tokio::select! {
            biased;
            answer = self.line.send_request(request).block_task() => match answer {
                Ok(answer) => Ok(answer),
                Err(error) => Err(self.request_error(error).await),
            },
            end = self.routes.wait_ended() => Err(outcome::as_error(end.to_event(self.agent))),
        }
    }

    /// What a refusal means to whoever asked for a session.
    async fn request_error(&self, error: agent_client_protocol::Error) -> Error {
        outcome::as_error(self.failure(&error).await)
    }

    /// What an error means to a turn: the agent's own words, or how its process ended.
    pub(super) async fn failure(
        &self,
        error: &agent_client_protocol::Error,
    ) -> windlass_core::AgentEvent {
        if !is_disconnected(error) {
            return outcome::error_event(
                error.code.value(),
                &error.message,
                error.data.as_ref(),
                &self.about.auth,
            );
        }
        // The end of the process is known a moment after the end of its output.
        match tokio::time::timeout(super::router::EXIT_TIMEOUT * 2, self.routes.wait_ended()).await
        {
            Ok(end) => end.to_event(self.agent),
            Err(_) => disconnected_error(self.agent).into(),
        }
    }

    /// The way to the agent, for what wants no answer now.
    pub(super) fn client(&self) -> &ConnectionTo<Agent> {
        &self.line
    }

    /// Whether it takes turns.
    pub(super) fn is_live(&self) -> bool {
        self.routes.ended().is_none()
            && !self.driver.0.is_finished()
            && !self.retired.load(Ordering::Acquire)
    }

    /// Takes no further turn: what an abandoned one left behind ends with the process.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }
}

/// The task that owns the process.
#[derive(Debug)]
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether there was no answer because nobody is there any more.
pub(super) fn is_disconnected(error: &agent_client_protocol::Error) -> bool {
    agent_client_protocol::is_incoming_transport_closed(error)
        || agent_client_protocol::is_connection_terminated(error)
}

fn disconnected_error(agent: &str) -> Error {
    Error::agent(
        ErrorCode::SessionOrphaned,
        format!("{agent} no longer listens"),
    )
}
