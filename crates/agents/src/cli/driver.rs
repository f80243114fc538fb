//! What the turns of one configured agent share.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempPath;
use tokio::sync::OnceCell;
use windlass_core::{AgentEvent, Error, ErrorCode, Result, SessionId, SessionOptions};

use super::call::{Call, Start};
use super::parking::Parking;
use super::process::Process;
use super::profile::{Naming, Paper, Profile};
use super::program::{self, Found};
use super::sessions::{Session, Sessions, check_name};
use super::{kept, launch};
use crate::{AgentContext, Settings, instructions, papers};

/// One configured agent: its profile and settings, its sessions, its waiting processes.
pub(super) struct Driver {
    pub(super) profile: &'static Profile,
    pub(super) settings: Settings,
    pub(super) context: AgentContext,
    pub(super) sessions: Sessions,
    pub(super) parking: Arc<Parking>,
    found: OnceCell<Found>,
}

impl Driver {
    pub(super) fn new(
        profile: &'static Profile,
        settings: Settings,
        context: AgentContext,
    ) -> Self {
        Self {
            profile,
            settings,
            sessions: Sessions::default(),
            parking: Parking::new(Arc::clone(context.clock()), context.warm()),
            context,
            found: OnceCell::new(),
        }
    }

    /// The program, looked for once; one that is missing is looked for again.
    pub(super) async fn found(&self) -> Result<&Found> {
        let find = || program::find(self.profile, &self.settings, &self.context);
        self.found.get_or_try_init(find).await
    }

    /// The program, if it has been looked for.
    pub(super) fn known(&self) -> Option<&Found> {
        self.found.get()
    }

    /// A new session: named by us, by the agent now, or by the agent later.
    pub(super) async fn open(&self, options: SessionOptions) -> Result<SessionId> {
        let found = self.found().await?;
        let cwd = self.check(found, &options)?;
        let name = uuid::Uuid::new_v4().to_string();
        let (id, chosen) = match found.transport.naming {
            Naming::Chosen { .. } => (name.clone(), Some(name)),
            Naming::Late => (format!("new-{name}"), None),
            Naming::Announced => {
                let session = Arc::new(Session::new(options, cwd, None));
                return self.announced(found, session, None).await;
            }
        };
        let id = SessionId::from(id);
        let session = Session::new(options, cwd, chosen);
        self.sessions.insert(id.clone(), Arc::new(session));
        Ok(id)
    }

    /// An earlier session. Whether the agent has it shows now or in the first turn.
    pub(super) async fn reopen(&self, id: &SessionId, options: SessionOptions) -> Result<()> {
        check_name(id)?;
        let found = self.found().await?;
        if !found.capabilities().load_session {
            return self.refuse("take up a session: each prompt is the whole conversation");
        }
        let cwd = self.check(found, &options)?;
        // A session that began here may have got another name since.
        let known = self.sessions.get(self.profile.name, id).ok();
        let name = known.as_ref().and_then(|session| session.name());
        let name = name.unwrap_or_else(|| id.as_str().to_owned());
        let kept = launch::sessions(self.profile, &self.context, &self.settings);
        if kept.is_some_and(|folder| !kept::has(&folder, &name)) {
            return Err(self.unknown(id));
        }
        let total = known.and_then(|session| session.total());
        let session = Arc::new(Session::earlier(options, cwd, name, total));
        if found.transport.naming == Naming::Announced {
            drop(self.parking.take(id));
            self.announced(found, session, Some(id)).await?;
        } else {
            self.sessions.insert(id.clone(), session);
        }
        Ok(())
    }

    /// Refuses what the agent cannot do before anything is started.
    fn check(&self, found: &Found, options: &SessionOptions) -> Result<PathBuf> {
        let can = found.capabilities();
        if options.output_schema.is_some() && !can.native_schema {
            return self.refuse("enforce a schema: put it into the prompt");
        }
        if !options.mcp_servers.is_empty() && !can.mcp {
            return self.refuse("connect to MCP servers this way");
        }
        if let Some(model) = &options.model {
            crate::settings::check_word(model)
                .map_err(|problem| Error::InvalidInput(format!("the model's name {problem}")))?;
        }
        match &options.cwd {
            Some(cwd) => Ok(cwd.clone()),
            None => self
                .context
                .folder()
                .map_err(|error| Error::InvalidInput(format!("no working directory: {error}"))),
        }
    }

    /// Starts the process of a session whose name the agent says, and keeps it for the first turn.
    async fn announced(
        &self,
        found: &Found,
        session: Arc<Session>,
        wanted: Option<&SessionId>,
    ) -> Result<SessionId> {
        let mut process = self.start(found, &session, "")?;
        loop {
            let Ok(Some(line)) = process.child.stdout.next().await else {
                let (end, _) = process.last_words(self).await;
                return Err(self.refusal(end, wanted));
            };
            let heard = process.hear(&line.text());
            if let Some(name) = heard.session {
                session.named(&name);
                let id = SessionId::from(name);
                self.sessions.insert(id.clone(), session);
                self.parking.put(id.clone(), process);
                return Ok(id);
            }
            if let Some(end) = heard.events.into_iter().find(|event| event.is_terminal()) {
                return Err(self.refusal(end, wanted));
            }
        }
    }

    /// Starts a process for the session's next turn.
    pub(super) fn start(&self, found: &Found, session: &Session, prompt: &str) -> Result<Process> {
        self.call(found, session, |call| {
            let mut call = *call;
            let papers = found.transport.papers.iter();
            let written: Vec<_> = papers
                .map(|paper| Ok((paper, self.paper(*paper, &call)?)))
                .collect::<Result<_>>()?;
            for (paper, file) in &written {
                match paper {
                    Paper::Schema => call.schema_file = file.as_deref(),
                    Paper::Servers => call.servers_file = file.as_deref(),
                }
            }
            let mut process = Process::start(self, found, &call, prompt)?;
            process.papers = written.into_iter().filter_map(|(_, file)| file).collect();
            Ok(process)
        })
    }

    /// Does something with what the session's next run depends on.
    pub(super) fn call<T>(
        &self,
        found: &Found,
        session: &Session,
        work: impl FnOnce(&Call<'_>) -> T,
    ) -> T {
        let options = &session.options;
        let (permissions, rules) = options.granted(self.settings.permissions.as_ref());
        let instructions = instructions::read(&session.cwd, self.profile.instructions);
        session.start(|start: Start<'_>| {
            work(&Call {
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
    fn paper(&self, paper: Paper, call: &Call<'_>) -> Result<Option<TempPath>> {
        let (prefix, value) = match paper {
            Paper::Schema => (papers::SCHEMA, call.schema.cloned()),
            Paper::Servers if call.mcp_servers.is_empty() => return Ok(None),
            Paper::Servers => {
                let table = json!({ "mcpServers": call.servers() });
                (papers::SERVERS, Some(table))
            }
        };
        let written = value.map(|value| papers::write(self.context.state(), prefix, &value));
        written.transpose()
    }

    /// Why there is no session: what the agent said in place of its name.
    fn refusal(&self, end: AgentEvent, wanted: Option<&SessionId>) -> Error {
        match (end, wanted) {
            (AgentEvent::SessionInvalid { .. }, Some(id)) => self.unknown(id),
            (AgentEvent::Error { code, message, .. }, _) => Error::agent(code, message),
            (other, _) => Error::agent(ErrorCode::BackendError, format!("no session: {other:?}")),
        }
    }

    /// What the agent cannot do.
    fn refuse<T>(&self, what: &str) -> Result<T> {
        Err(Error::Unsupported {
            backend: self.profile.name.to_owned(),
            what: what.to_owned(),
        })
    }

    fn unknown(&self, id: &SessionId) -> Error {
        Error::SessionNotFound {
            backend: self.profile.name.to_owned(),
            session: id.clone(),
        }
    }
}
