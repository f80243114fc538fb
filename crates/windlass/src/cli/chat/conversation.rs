//! The conversation: its agent, its session, its files and what is stored of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use windlass_agents::{WarmLimits, WarmPrompt, WarmSessionManager, WarmTurn};
use windlass_core::{AgentHandle, DirAccess, PermissionPolicy, Prompt, SessionId, SessionOptions};
use windlass_workspace::DirSnapshots;

use super::recap;
use super::records::{ChatRecord, ChatStore, ChatTurn};
use crate::agent_catalog::AgentCatalog;
use crate::cli::console::Console;
use crate::cli::exit::CliError;
use crate::config::AgentConfig;

/// How long the session of an idle chat stays open. Its process ends earlier and is started again.
const SESSION_IDLE: Duration = Duration::from_secs(24 * 3600);

/// What stays the same whatever the user does in a chat.
pub(super) struct ChatContext<'a> {
    pub(super) console: &'a Console,
    pub(super) agents: AgentCatalog,
    pub(super) store: ChatStore,
    /// The snapshots of the working directory, or the reason why they are missing.
    pub(super) snapshots: Result<DirSnapshots, String>,
    /// The working directory.
    pub(super) cwd: PathBuf,
    /// Options of every session.
    pub(super) options: SessionOptions,
    pub(super) timeout: Option<Duration>,
}

/// A conversation that is open.
pub(super) struct ChatConversation {
    pub(super) agent: AgentConfig,
    pub(super) handle: AgentHandle,
    pub(super) record: ChatRecord,
    options: SessionOptions,
    warm: WarmSessionManager,
    /// Counts the sessions of the conversation; the number is the key of the current one.
    session_number: u32,
    /// What is sent to the agent before the next prompt.
    notes: Vec<String>,
    /// The files before the running turn.
    before: Option<String>,
}

impl ChatConversation {
    /// Opens a new conversation with an agent.
    pub(super) fn new(context: &ChatContext<'_>, agent: AgentConfig) -> Result<Self, CliError> {
        let record = ChatRecord::new(context.cwd.clone(), agent.name.clone(), agent.model.clone());
        Self::with_record(context, agent, record)
    }

    fn with_record(
        context: &ChatContext<'_>,
        agent: AgentConfig,
        record: ChatRecord,
    ) -> Result<Self, CliError> {
        let handle = context.agents.open(&agent)?;
        let mut options = context.options.clone();
        options.model.clone_from(&agent.model);
        Ok(Self {
            warm: warm(&handle),
            agent,
            handle,
            record,
            options,
            session_number: 0,
            notes: Vec::new(),
            before: None,
        })
    }

    /// Opens a stored conversation. If the agent cannot resume its session, the next prompt contains the conversation.
    pub(super) async fn resume(
        context: &ChatContext<'_>,
        record: ChatRecord,
    ) -> Result<Self, CliError> {
        let mut agent = context.agents.find(Some(&record.agent))?;
        agent.model = record.model.clone().or(agent.model);
        let this = Self::with_record(context, agent, record)?;
        let notice = match this.record.agent_session.clone() {
            None => Some(format!(
                "{} cannot resume sessions: it gets the conversation as text with the next prompt",
                this.agent.name
            )),
            Some(session) => {
                let session = SessionId::from(session);
                let resumed = this
                    .warm
                    .resume(&this.key(), this.options.clone(), session)
                    .await;
                resumed.err().map(|error| {
                    format!(
                        "{} could not resume its session ({error}): it gets the conversation as text with the next prompt",
                        this.agent.name
                    )
                })
            }
        };
        if let Some(notice) = notice.filter(|_| !this.record.turns.is_empty()) {
            context.console.notice(&notice);
        }
        Ok(this)
    }

    /// Opens a session that only the agent knows.
    pub(super) async fn resume_foreign(
        context: &ChatContext<'_>,
        agent: AgentConfig,
        session: &str,
    ) -> Result<Self, CliError> {
        let mut this = Self::new(context, agent)?;
        let id = SessionId::from(session);
        this.warm
            .resume(&this.key(), this.options.clone(), id)
            .await
            .map_err(|error| {
                let error = CliError::from(error);
                error.with_context(&format!(
                    "no conversation {session} (windlass chat --list shows them), and {} has no such session",
                    this.agent.name
                ))
            })?;
        this.record.agent_session = Some(session.to_owned());
        Ok(this)
    }

    /// Continues with another agent, which gets the conversation with the next prompt.
    pub(super) async fn change_agent(
        &mut self,
        context: &ChatContext<'_>,
        agent: AgentConfig,
    ) -> Result<(), CliError> {
        let handle = context.agents.open(&agent)?;
        self.warm.remove(&self.key()).await;
        self.warm = warm(&handle);
        self.options.model.clone_from(&agent.model);
        self.record.agent.clone_from(&agent.name);
        self.record.model.clone_from(&agent.model);
        self.record.agent_session = None;
        self.agent = agent;
        self.handle = handle;
        Ok(())
    }

    /// Continues with another model: in the same session if the agent can, otherwise in a new one.
    pub(super) async fn change_model(&mut self, model: String) {
        self.options.model = Some(model.clone());
        self.record.model = Some(model.clone());
        self.agent.model = Some(model);
        if !self.handle.capabilities().load_session {
            self.warm.remove(&self.key()).await;
            self.session_number += 1;
        }
    }

    /// Adds a text to the next prompt.
    pub(super) fn add_note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Starts a turn, after a snapshot of the files.
    pub(super) async fn start_turn(
        &mut self,
        context: &ChatContext<'_>,
        text: &str,
    ) -> Result<WarmTurn, CliError> {
        self.before = match &context.snapshots {
            Ok(snapshots) => match snapshots.take().await {
                Ok(snapshot) => Some(snapshot.tree),
                Err(error) => {
                    context
                        .console
                        .notice(&format!("this turn cannot be undone: {error}"));
                    None
                }
            },
            Err(_) => None,
        };
        if self.record.start_tree.is_none() {
            self.record.start_tree.clone_from(&self.before);
        }
        let notes: String = self
            .notes
            .iter()
            .map(|note| format!("({note})\n"))
            .collect();
        let text = format!("{notes}{text}");
        let prompt_of = |text: String| {
            let prompt = Prompt::from(text);
            match context.timeout {
                Some(timeout) => prompt.with_timeout(timeout),
                None => prompt,
            }
        };
        let prompt = WarmPrompt {
            in_new_session: Some(prompt_of(recap::prompt(&self.record.turns, &text))),
            prompt: prompt_of(text),
        };
        let turn = self
            .warm
            .start_turn(&self.key(), self.options.clone(), prompt)
            .await?;
        self.notes.clear();
        Ok(turn)
    }

    /// Asks the agent to stop the running turn.
    pub(super) async fn cancel(&self) {
        let _ = self.warm.cancel(&self.key()).await;
    }

    /// Records a turn that ended, and returns the files that it changed.
    pub(super) async fn end_turn(
        &mut self,
        context: &ChatContext<'_>,
        prompt: &str,
        answer: &str,
    ) -> Result<Vec<String>, CliError> {
        let mut files = Vec::new();
        let mut trees = None;
        if let (Ok(snapshots), Some(before)) = (&context.snapshots, self.before.take())
            && let Ok(after) = snapshots.take().await
        {
            let changed = snapshots.changed_files(&before, &after.tree).await;
            files = changed.unwrap_or_default();
            trees = Some((before, after.tree));
        }
        let masker = self.handle.masker();
        self.record.add(ChatTurn {
            prompt: masker.text(prompt).into_owned(),
            answer: answer.to_owned(),
            agent: self.agent.name.clone(),
            trees: trees.filter(|_| !files.is_empty()),
            undone: false,
        });
        self.record.title = masker.text(&self.record.title).into_owned();
        let session = self.warm.session(&self.key());
        let can_resume = self.handle.capabilities().load_session;
        self.record.agent_session = session.filter(|_| can_resume).map(|id| id.to_string());
        context.store.write(&self.record)?;
        Ok(files)
    }

    /// Ends the agent's processes.
    pub(super) async fn close(&self) {
        self.warm.remove(&self.key()).await;
        self.handle.close().await;
    }

    /// Returns what the agent may change.
    pub(super) fn access(&self) -> DirAccess {
        self.agent.access(&self.options)
    }

    /// Returns `true` if the user is asked before the agent acts.
    pub(super) fn asks(&self) -> bool {
        self.options.permissions == PermissionPolicy::Ask
            && self.agent.settings.permissions.is_none()
    }

    fn key(&self) -> String {
        format!("{} {}", self.agent.name, self.session_number)
    }
}

/// Keeps the session and the process of one agent.
fn warm(handle: &AgentHandle) -> WarmSessionManager {
    let limits = WarmLimits {
        idle: SESSION_IDLE,
        sessions: 4,
    };
    let handle = handle.clone();
    WarmSessionManager::new(move || Ok(handle.clone())).with_limits(limits)
}

/// Returns the options of every session in this directory.
pub(super) fn session_options(
    cwd: PathBuf,
    approver: Option<Arc<dyn windlass_core::Approver>>,
    is_read_only: bool,
) -> SessionOptions {
    let mut options = SessionOptions::in_dir(cwd);
    if approver.is_some() {
        options.permissions = PermissionPolicy::Ask;
    }
    options.approver.0 = approver;
    if is_read_only {
        options.access = DirAccess::ReadOnly;
    }
    options
}
