//! Answers the requests of a client.

use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, ClientRequest, CloseSessionResponse, ConfigOptionUpdate, CurrentModeUpdate,
    DeleteSessionResponse, Implementation, InitializeResponse, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, NewSessionRequest, NewSessionResponse,
    PromptCapabilities, PromptRequest, PromptResponse, ResumeSessionRequest, ResumeSessionResponse,
    SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
    SessionListCapabilities, SessionResumeCapabilities, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse,
};
use agent_client_protocol::{Error as ProtocolError, JsonRpcResponse, Result as ProtocolResult};
use windlass_core::Result;

use crate::error::to_protocol;
use crate::link::ClientLink;
use crate::options::{self, OptionChange};
use crate::sessions::Sessions;

/// Answers one request. What takes time runs in a separate task, so that it does not delay other messages.
pub(crate) struct RequestHandler {
    sessions: Arc<Sessions>,
    link: ClientLink,
}

impl RequestHandler {
    pub(crate) fn new(sessions: Arc<Sessions>, link: ClientLink) -> Self {
        Self { sessions, link }
    }

    /// Answers the request, now or later.
    pub(crate) fn handle(self, request: ClientRequest, responder: Responder) -> ProtocolResult<()> {
        match request {
            ClientRequest::InitializeRequest(_) => return responder.cast().respond(initialize()),
            ClientRequest::NewSessionRequest(request) => self.create(request, responder.cast()),
            ClientRequest::LoadSessionRequest(request) => self.load(request, responder.cast()),
            ClientRequest::ResumeSessionRequest(request) => self.resume(request, responder.cast()),
            ClientRequest::SetSessionModeRequest(request) => {
                self.set_mode(request, responder.cast());
            }
            ClientRequest::SetSessionConfigOptionRequest(request) => {
                self.set_option(request, responder.cast());
            }
            ClientRequest::PromptRequest(request) => return self.prompt(request, responder.cast()),
            ClientRequest::ListSessionsRequest(request) => {
                let sessions = Arc::clone(&self.sessions);
                self.answer(responder.cast(), async move {
                    Ok(ListSessionsResponse::new(sessions.list(request.cwd).await))
                });
            }
            ClientRequest::CloseSessionRequest(request) => {
                let sessions = Arc::clone(&self.sessions);
                self.answer(responder.cast(), async move {
                    sessions.close(&request.session_id.0).await?;
                    Ok(CloseSessionResponse::new())
                });
            }
            ClientRequest::DeleteSessionRequest(request) => {
                let sessions = Arc::clone(&self.sessions);
                self.answer(responder.cast(), async move {
                    sessions.delete(&request.session_id.0).await;
                    Ok(DeleteSessionResponse::new())
                });
            }
            // There is no login here: each agent has its own.
            _ => return responder.respond_with_error(ProtocolError::method_not_found()),
        }
        Ok(())
    }

    /// Answers a request in a separate task.
    fn answer<T: JsonRpcResponse>(
        &self,
        responder: Responder<T>,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) {
        self.sessions.tasks.spawn(async move {
            let result = work.await.map_err(|error| to_protocol(&error));
            respond(responder, result);
        });
    }

    fn create(self, request: NewSessionRequest, responder: Responder<NewSessionResponse>) {
        let (sessions, link) = (Arc::clone(&self.sessions), self.link.clone());
        self.answer(responder, async move {
            let session = sessions
                .create(link, request.cwd, request.mcp_servers)
                .await?;
            let (modes, options) = session.settings();
            Ok(NewSessionResponse::new(session.id.clone())
                .modes(modes)
                .config_options(options))
        });
    }

    fn load(self, request: LoadSessionRequest, responder: Responder<LoadSessionResponse>) {
        let (sessions, link) = (Arc::clone(&self.sessions), self.link.clone());
        self.answer(responder, async move {
            let (id, servers) = (request.session_id, request.mcp_servers);
            let session = sessions.load(link, &id.0, request.cwd, servers).await?;
            session.replay(sessions.history(&session).await).await;
            let (modes, options) = session.settings();
            Ok(LoadSessionResponse::new()
                .modes(modes)
                .config_options(options))
        });
    }

    fn resume(self, request: ResumeSessionRequest, responder: Responder<ResumeSessionResponse>) {
        let (sessions, link) = (Arc::clone(&self.sessions), self.link.clone());
        self.answer(responder, async move {
            let (id, servers) = (request.session_id, request.mcp_servers);
            let session = sessions.load(link, &id.0, request.cwd, servers).await?;
            let (modes, options) = session.settings();
            Ok(ResumeSessionResponse::new()
                .modes(modes)
                .config_options(options))
        });
    }

    fn set_mode(
        self,
        request: SetSessionModeRequest,
        responder: Responder<SetSessionModeResponse>,
    ) {
        let sessions = Arc::clone(&self.sessions);
        self.answer(responder, async move {
            let session = sessions.get(&request.session_id.0)?;
            session.apply(OptionChange::Mode(options::mode(&request.mode_id.0)?))?;
            let (_, options) = session.settings();
            let update = SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options));
            session.link.update(&session.id, update).await;
            Ok(SetSessionModeResponse::new())
        });
    }

    fn set_option(
        self,
        request: SetSessionConfigOptionRequest,
        responder: Responder<SetSessionConfigOptionResponse>,
    ) {
        let sessions = Arc::clone(&self.sessions);
        self.answer(responder, async move {
            let session = sessions.get(&request.session_id.0)?;
            let change = options::change(&request.config_id.0, &request.value)?;
            let is_mode = matches!(change, OptionChange::Mode(_));
            session.apply(change)?;
            let (modes, options) = session.settings();
            if is_mode {
                let update = CurrentModeUpdate::new(modes.current_mode_id);
                let update = SessionUpdate::CurrentModeUpdate(update);
                session.link.update(&session.id, update).await;
            }
            Ok(SetSessionConfigOptionResponse::new(options))
        });
    }

    /// Starts a turn. A request that the client cancels is a cancelled turn.
    fn prompt(
        self,
        request: PromptRequest,
        responder: Responder<PromptResponse>,
    ) -> ProtocolResult<()> {
        let id = request.session_id.0.to_string();
        let turn = match self.sessions.start_turn(request) {
            Ok(turn) => turn,
            Err(error) => return responder.respond_with_error(error),
        };
        let cancellation = responder.cancellation();
        let sessions = Arc::clone(&self.sessions);
        self.sessions.tasks.spawn(async move {
            tokio::pin!(turn);
            let response = tokio::select! {
                response = &mut turn => response,
                () = cancellation.cancelled() => {
                    if let Ok(session) = sessions.get(&id) {
                        session.cancel();
                    }
                    turn.await
                }
            };
            respond(responder, response);
        });
        Ok(())
    }
}

fn respond<T: JsonRpcResponse>(responder: Responder<T>, result: ProtocolResult<T>) {
    if responder.respond_with_result(result).is_err() {
        tracing::debug!("the client was gone before its request was answered");
    }
}

/// Returns what this agent supports. The version is always 1: a client that supports only others disconnects.
fn initialize() -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().embedded_context(true))
        .session_capabilities(sessions);
    let version = env!("CARGO_PKG_VERSION");
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new("windlass", version).title("Windlass".to_owned()))
}
