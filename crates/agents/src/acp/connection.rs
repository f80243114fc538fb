//! One agent process, and the protocol connection to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthMethod, ClientCapabilities, ClientSessionCapabilities, Implementation,
    InitializeRequest, InitializeResponse, NoticeCapabilities, RequestPermissionRequest,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Client, ErrorCode as ErrorCodes, JsonRpcRequest, Lines};
use futures::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use windlass_core::{Error, ErrorCode, Result};
use windlass_sandbox::Child;

use super::outcome;
use super::permission::PendingPermission;
use super::router::{ConnectionEnd, SessionMessage, SessionRouter};
use super::stdio::{self, AgentStdin};
use crate::program::AgentProgram;
use crate::program::find::unavailable;
use crate::program::pool::Pooled;

/// How long an agent may take to store its sessions and to exit, once its input is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// One running agent. Dropping it kills the process tree.
#[derive(Debug)]
pub(super) struct Connection {
    /// Distinguishes it from the other connections of the agent.
    pub(super) number: u64,
    /// The agent's name, for messages.
    pub(super) agent: String,
    program: &'static AgentProgram,
    pub(super) router: Arc<SessionRouter>,
    client: ConnectionTo<Agent>,
    stdin: AgentStdin,
    driver: DriverTask,
    /// Whether it accepts no further turns.
    retired: AtomicBool,
    /// What the agent reported in `initialize`.
    pub(super) info: AgentInfo,
}

/// What an agent reports in `initialize`.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentInfo {
    pub(super) capabilities: AgentCapabilities,
    pub(super) auth: Vec<AuthMethod>,
    pub(super) implementation: Option<Implementation>,
}

impl Connection {
    /// Connects to a process that was just started.
    pub(super) async fn open(
        mut child: Child,
        (agent, program): (String, &'static AgentProgram),
        number: u64,
    ) -> Result<Self> {
        let router = Arc::new(SessionRouter::new());
        let pipe = child.stdin.take().ok_or_else(|| {
            Error::agent(ErrorCode::BackendError, "the agent has no standard input")
        })?;
        let stdin = AgentStdin::new(pipe);
        let transport = Lines::new(
            stdio::outgoing(stdin.clone(), Arc::clone(&router)),
            stdio::incoming(child, Arc::clone(&router)),
        );
        let (client_sender, client) = oneshot::channel();
        let permission_router = Arc::clone(&router);
        let driver = Client
            .v1()
            .name("windlass")
            .on_receive_request(
                async move |request: RequestPermissionRequest,
                            responder: Responder<_>,
                            client: ConnectionTo<Agent>| {
                    // The answer may take as long as a person does, and must not block other messages.
                    let router = Arc::clone(&permission_router);
                    client.spawn(async move {
                        let session = request.session_id.0.to_string();
                        let pending = PendingPermission::new(responder);
                        router
                            .deliver(
                                &session,
                                SessionMessage::PermissionRequest(Box::new(request), pending),
                            )
                            .await;
                        Ok(())
                    })
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_with(transport, async move |client: ConnectionTo<Agent>| {
                let _ = client_sender.send(client.clone());
                client.incoming_closed().await;
                Ok(())
            });
        let driver = tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(code = error.code.value(), "an agent's connection ended");
            }
        });
        let driver = DriverTask(driver.abort_handle());
        let mut connection = Self {
            number,
            client: client.await.map_err(|_| disconnected_error(&agent))?,
            agent,
            program,
            router,
            stdin,
            driver,
            retired: AtomicBool::new(false),
            info: AgentInfo::default(),
        };
        connection.info = connection.initialize().await?;
        Ok(connection)
    }

    /// Initializes the protocol: version 1, with notices, without files and terminals on the client side.
    async fn initialize(&self) -> Result<AgentInfo> {
        let client_info = Implementation::new("windlass", env!("CARGO_PKG_VERSION"));
        // Without it, agents write their notices into the answer.
        let notices = ClientSessionCapabilities::new().notices(NoticeCapabilities::new());
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_info(client_info)
            .client_capabilities(ClientCapabilities::new().session(notices));
        let wrong_version = |version: &str| {
            let problem = format!(
                "it uses {version} of ACP, expected version 1: install another version of the agent"
            );
            unavailable(&self.agent, problem)
        };
        let response: InitializeResponse =
            match self.client.send_request(request).block_task().await {
                Ok(response) => response,
                // The protocol's crate rejected the version.
                Err(error) if error.code == ErrorCodes::INVALID_REQUEST => {
                    return Err(wrong_version("another version"));
                }
                Err(error) if error.code == ErrorCodes::METHOD_NOT_FOUND => {
                    let problem = "it does not speak ACP: check `command` and its arguments";
                    return Err(unavailable(&self.agent, problem.to_owned()));
                }
                Err(error) => return Err(self.request_error(error).await),
            };
        if response.protocol_version != ProtocolVersion::V1 {
            return Err(wrong_version(&format!(
                "version {}",
                response.protocol_version
            )));
        }
        Ok(AgentInfo {
            capabilities: response.agent_capabilities,
            auth: response.auth_methods,
            implementation: response.agent_info,
        })
    }

    /// Sends a request, and converts an error response.
    pub(super) async fn request<R>(&self, request: R) -> Result<R::Response>
    where
        R: JsonRpcRequest,
        R::Response: Send,
    {
        tokio::select! {
            biased;
            response = self.client.send_request(request).block_task() => match response {
                Ok(response) => Ok(response),
                Err(error) => Err(self.request_error(error).await),
            },
            end = self.router.wait_ended() => Err(outcome::as_error(self.end_event(end))),
        }
    }

    /// Converts the error response of a session request.
    async fn request_error(&self, error: agent_client_protocol::Error) -> Error {
        outcome::as_error(self.failure(&error).await)
    }

    /// Converts an error to the terminal event of a turn: the agent's own message, or how its process ended.
    pub(super) async fn failure(
        &self,
        error: &agent_client_protocol::Error,
    ) -> windlass_core::AgentEvent {
        if !is_disconnected(error) {
            let event = outcome::error_event(
                error.code.value(),
                &error.message,
                error.data.as_ref(),
                &self.info.auth,
            );
            return self.with_hints(event);
        }
        // The exit status is known shortly after the end of the output.
        match tokio::time::timeout(super::router::EXIT_TIMEOUT * 2, self.router.wait_ended()).await
        {
            Ok(end) => self.end_event(end),
            Err(_) => disconnected_error(&self.agent).into(),
        }
    }

    /// Returns the terminal event of a turn that was running when the process ended.
    fn end_event(&self, end: &ConnectionEnd) -> windlass_core::AgentEvent {
        self.with_hints(end.to_event(&self.agent))
    }

    /// Adds what to do about an error: how to log in to a known agent, or how to show another one its directories.
    fn with_hints(&self, event: windlass_core::AgentEvent) -> windlass_core::AgentEvent {
        if self.program.programs.is_empty() {
            outcome::with_state_hint(event)
        } else {
            outcome::with_login_hint(event, self.program.login)
        }
    }

    /// Returns the client, for messages that need no response now.
    pub(super) fn client(&self) -> &ConnectionTo<Agent> {
        &self.client
    }

    /// Returns `true` if the process accepts turns.
    pub(super) fn is_live(&self) -> bool {
        self.router.ended().is_none()
            && !self.driver.0.is_finished()
            && !self.retired.load(Ordering::Acquire)
    }

    /// Makes the process accept no further turns: what an abandoned turn left running ends with the process.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }
}

impl Pooled for Arc<Connection> {
    fn is_live(&self) -> bool {
        Connection::is_live(self)
    }

    /// Only the pool has an idle connection.
    fn is_busy(&self) -> bool {
        Arc::strong_count(self) > 1
    }

    fn expires(&self) -> bool {
        self.info.capabilities.load_session
    }

    fn close(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let exited = async {
                self.stdin.close().await;
                self.router.wait_ended().await;
            };
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, exited).await;
        })
    }
}

/// The handle of the task that owns the process.
#[derive(Debug)]
struct DriverTask(AbortHandle);

impl Drop for DriverTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns `true` if there was no response because the agent is gone.
pub(super) fn is_disconnected(error: &agent_client_protocol::Error) -> bool {
    agent_client_protocol::is_incoming_transport_closed(error)
        || agent_client_protocol::is_connection_terminated(error)
}

fn disconnected_error(agent: &str) -> Error {
    Error::agent(
        ErrorCode::SessionOrphaned,
        format!("{agent} closed the connection"),
    )
}
