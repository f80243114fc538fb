//! What the turns of one configured agent share.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempPath;
use tokio::sync::OnceCell;
use windlass_core::{AgentEvent, Error, ErrorCode, Result, SessionId, SessionOptions};

use super::idle::IdleProcesses;
use super::process::AgentProcess;
use super::profile::{CliProfile, SessionNaming, TempFileKind};
use super::program::{self, CliInstallation};
use super::run_context::{RunContext, SessionStart};
use super::sessions::{CliSession, CliSessions, check_name};
use super::{launch, session_files};
use crate::{AgentContext, ProgramSettings, instructions, temp_files};

/// One configured agent: its profile and settings, its sessions, its waiting processes.
pub(super) struct CliDriver {
    pub(super) profile: &'static CliProfile,
    pub(super) settings: ProgramSettings,
    pub(super) context: AgentContext,
    pub(super) sessions: CliSessions,
    pub(super) parking: Arc<IdleProcesses>,
    found: OnceCell<CliInstallation>,
}

impl CliDriver {
    pub(super) fn new(
        profile: &'static CliProfile,
        settings: ProgramSettings,
        context: AgentContext,
    ) -> Self {
        Self {
            profile,
            settings,
            sessions: CliSessions::default(),
            parking: IdleProcesses::new(Arc::clone(context.clock()), context.idle_timeout()),
            context,
            found: OnceCell::new(),
        }
    }

    /// The program, looked for once; one that is missing is looked for again.
    pub(super) async fn installation(&self) -> Result<&CliInstallation> {
        let find = || program::find(self.profile, &self.settings, &self.context);
        self.found.get_or_try_init(find).await
    }

    /// The program, if it has been looked for.
    pub(super) fn cached_installation(&self) -> Option<&CliInstallation> {
        self.found.get()
    }

    /// A new session: named by us, by the agent now, or by the agent later.
    pub(super) async fn new_session(&self, options: SessionOptions) -> Result<SessionId> {
        let found = self.installation().await?;
        let cwd = self.check(found, &options)?;
        let name = uuid::Uuid::new_v4().to_string();
        let (id, chosen) = match found.transport.naming {
            SessionNaming::ByClient { .. } => (name.clone(), Some(name)),
            SessionNaming::InFirstTurn => (format!("new-{name}"), None),
            SessionNaming::AtStart => {
                let session = Arc::new(CliSession::new(options, cwd, None));
                return self.start_announced_session(found, session, None).await;
            }
        };
        let id = SessionId::from(id);
        let session = CliSession::new(options, cwd, chosen);
        self.sessions.insert(id.clone(), Arc::new(session));
        Ok(id)
    }

    /// An earlier session. Whether the agent has it shows now or in the first turn.
    pub(super) async fn load_session(&self, id: &SessionId, options: SessionOptions) -> Result<()> {
        check_name(id)?;
        let found = self.installation().await?;
        if !found.capabilities().load_session {
            return self.unsupported("take up a session: each prompt is the whole conversation");
        }
        let cwd = self.check(found, &options)?;
        // A session that began here may have got another name since.
        let known = self.sessions.get(self.profile.name, id).ok();
        let name = known.as_ref().and_then(|session| session.name());
        let name = name.unwrap_or_else(|| id.as_str().to_owned());
        let kept = launch::session_dir(self.profile, &self.context, &self.settings);
        if kept.is_some_and(|folder| !session_files::session_exists(&folder, &name)) {
            return Err(self.session_not_found(id));
        }
        let total = known.and_then(|session| session.total());
        let session = Arc::new(CliSession::resumed(options, cwd, name, total));
        if found.transport.naming == SessionNaming::AtStart {
            drop(self.parking.take(id));
            self.start_announced_session(found, session, Some(id))
                .await?;
        } else {
            self.sessions.insert(id.clone(), session);
        }
        Ok(())
    }

    /// Refuses what the agent cannot do before anything is started.
    fn check(&self, found: &CliInstallation, options: &SessionOptions) -> Result<PathBuf> {
        let can = found.capabilities();
        if options.output_schema.is_some() && !can.native_schema {
            return self.unsupported("enforce a schema: put it into the prompt");
        }
        if !options.mcp_servers.is_empty() && !can.mcp {
            return self.unsupported("connect to MCP servers this way");
        }
        if let Some(model) = &options.model {
            crate::settings::check_argument(model)
                .map_err(|problem| Error::InvalidInput(format!("the model's name {problem}")))?;
        }
        match &options.cwd {
            Some(cwd) => Ok(cwd.clone()),
            None => self
                .context
                .working_dir()
                .map_err(|error| Error::InvalidInput(format!("no working directory: {error}"))),
        }
    }

    /// Starts the process of a session whose name the agent says, and keeps it for the first turn.
    async fn start_announced_session(
        &self,
        found: &CliInstallation,
        session: Arc<CliSession>,
        wanted: Option<&SessionId>,
    ) -> Result<SessionId> {
        let mut process = self.start(found, &session, "")?;
        loop {
            let Ok(Some(line)) = process.child.stdout.next().await else {
                let (end, _) = process.wait_exit(self).await;
                return Err(self.session_error(end, wanted));
            };
            let heard = process.handle_line(&line.text());
            if let Some(name) = heard.session {
                session.set_name(&name);
                let id = SessionId::from(name);
                self.sessions.insert(id.clone(), session);
                self.parking.insert(id.clone(), process);
                return Ok(id);
            }
            if let Some(end) = heard.events.into_iter().find(|event| event.is_terminal()) {
                return Err(self.session_error(end, wanted));
            }
        }
    }

    /// Starts a process for the session's next turn.
    pub(super) fn start(
        &self,
        found: &CliInstallation,
        session: &CliSession,
        prompt: &str,
    ) -> Result<AgentProcess> {
        self.with_run_context(found, session, |call| {
            let mut call = *call;
            let papers = found.transport.temp_files.iter();
            let written: Vec<_> = papers
                .map(|paper| Ok((paper, self.write_temp_file(*paper, &call)?)))
                .collect::<Result<_>>()?;
            for (paper, file) in &written {
                match paper {
                    TempFileKind::Schema => call.schema_file = file.as_deref(),
                    TempFileKind::McpServers => call.servers_file = file.as_deref(),
                }
            }
            let mut process = AgentProcess::start(self, found, &call, prompt)?;
            process.papers = written.into_iter().filter_map(|(_, file)| file).collect();
            Ok(process)
        })
    }

    /// Does something with what the session's next run depends on.
    pub(super) fn with_run_context<T>(
        &self,
        found: &CliInstallation,
        session: &CliSession,
        work: impl FnOnce(&RunContext<'_>) -> T,
    ) -> T {
        let options = &session.options;
        let (permissions, rules) =
            options.effective_permissions(self.settings.permissions.as_ref());
        let instructions = instructions::read(&session.cwd, self.profile.instructions);
        session.with_start(|start: SessionStart<'_>| {
            work(&RunContext {
                settings: &self.settings,
                version: found.version,
                walls: self.context.sandbox().mechanism(),
                cwd: &session.cwd,
                model: options.model.as_deref().or(self.settings.model.as_deref()),
                permissions,
                rules,
                instructions: instructions.as_deref(),
                mcp_servers: &options.mcp_servers,
                servers_file: None,
                schema: options.output_schema.as_ref(),
                schema_file: None,
                start,
                turn: session.turn(),
                before: session.total(),
            })
        })
    }

    /// What the agent is handed in a file, if there is anything to hand.
    fn write_temp_file(
        &self,
        paper: TempFileKind,
        call: &RunContext<'_>,
    ) -> Result<Option<TempPath>> {
        let (prefix, value) = match paper {
            TempFileKind::Schema => (temp_files::SCHEMA_PREFIX, call.schema.cloned()),
            TempFileKind::McpServers if call.mcp_servers.is_empty() => return Ok(None),
            TempFileKind::McpServers => {
                let table = json!({ "mcpServers": call.mcp_servers_json() });
                (temp_files::SERVERS_PREFIX, Some(table))
            }
        };
        let written =
            value.map(|value| temp_files::write(self.context.state_dir(), prefix, &value));
        written.transpose()
    }

    /// Why there is no session: what the agent said in place of its name.
    fn session_error(&self, end: AgentEvent, wanted: Option<&SessionId>) -> Error {
        match (end, wanted) {
            (AgentEvent::SessionInvalid { .. }, Some(id)) => self.session_not_found(id),
            (AgentEvent::Error { code, message, .. }, _) => Error::agent(code, message),
            (other, _) => Error::agent(ErrorCode::BackendError, format!("no session: {other:?}")),
        }
    }

    /// What the agent cannot do.
    fn unsupported<T>(&self, what: &str) -> Result<T> {
        Err(Error::Unsupported {
            backend: self.profile.name.to_owned(),
            what: what.to_owned(),
        })
    }

    fn session_not_found(&self, id: &SessionId) -> Error {
        Error::SessionNotFound {
            backend: self.profile.name.to_owned(),
            session: id.clone(),
        }
    }
}
