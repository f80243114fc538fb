//! One who plans, and one who carries the plan out.

use serde_json::json;
use windlass_core::structured::{Dialog, Fault, Rules, schema_mode_for};
use windlass_core::{
    AgentEvent, AgentHandle, Error, ErrorCode, PermissionPolicy, Plan, PlanEntry, PlanStatus,
    Prompt, Result, SchemaSetting, SessionId, SessionOptions, StructuredAgentTask, TurnTrace,
};

use super::turn::{Asked, Turn};

/// The places of the two.
const PLANNER: usize = 0;
const CODER: usize = 1;

impl Turn {
    /// Has the first node plan and the second do what the plan tells it, word for word.
    pub(super) async fn plan_and_execute(&mut self) -> AgentEvent {
        let mut text = self.prompt.clone();
        let mut plan = None;
        // Of nothing there is nothing to plan; what to make of it is the coder's business.
        if !text.trim().is_empty() {
            let made = match self.plan().await {
                Ok(made) => made,
                Err(error) => return error.into(),
            };
            let entries = made.plan.iter().map(|step| PlanEntry {
                step: step.clone(),
                status: PlanStatus::Pending,
            });
            let entries = entries.collect();
            self.send(AgentEvent::Plan { entries }).await;
            text.clone_from(&made.coder_prompt);
            plan = Some(made);
        }
        let end = match self.ask(CODER, &text, false).await {
            Asked::Over(end) => end,
            Asked::PassedOver(_) => {
                Error::agent(ErrorCode::Unknown, "nobody carries the plan out").into()
            }
        };
        match (end, plan) {
            (
                AgentEvent::Result {
                    text,
                    usage,
                    mut metadata,
                },
                Some(plan),
            ) => {
                if metadata.is_null() {
                    metadata = json!({});
                }
                if let Some(table) = metadata.as_object_mut() {
                    table.insert("plan".to_owned(), json!(plan));
                }
                AgentEvent::Result {
                    text,
                    usage,
                    metadata,
                }
            }
            (end, _) => end,
        }
    }

    /// The plan, from a planner that may look and not touch, and that hears the whole conversation.
    async fn plan(&mut self) -> Result<Plan> {
        let name = self.name(PLANNER).to_owned();
        let agent = self.shared.nodes[PLANNER].agent.clone();
        let mut trace = TurnTrace::begin(&self.shared.clock, "plan", &name);
        let planned = self.planned(&agent, &mut trace).await;
        let planned = planned.map_err(|error| match error {
            Error::Cancelled => error,
            error => {
                let retry_after = match &error {
                    Error::Agent { retry_after, .. } => *retry_after,
                    _ => None,
                };
                Error::Agent {
                    code: error.code(),
                    message: format!("{name} made no plan: {error}"),
                    retry_after,
                }
            }
        });
        if let Err(error) = &planned {
            trace.refused(error);
        }
        self.send(trace.close().event()).await;
        planned
    }

    async fn planned(&mut self, agent: &AgentHandle, trace: &mut TurnTrace) -> Result<Plan> {
        let task = StructuredAgentTask {
            name: "plan".to_owned(),
            prompt: Plan::prompt(&self.session.whole(&self.prompt)),
            schema: Some(Plan::schema()),
            schema_mode: schema_mode_for(SchemaSetting::Auto, agent.capabilities()),
        };
        let mut dialog = Dialog::new(task, Rules::default()).map_err(plain)?;
        let options = SessionOptions {
            cwd: self.session.options.cwd.clone(),
            mcp_servers: self.session.options.mcp_servers.clone(),
            permissions: PermissionPolicy::Deny,
            once: self.session.options.once,
            ..SessionOptions::default()
        };
        let begun = tokio::select! {
            begun = agent.new_session(dialog.session_options(options)) => begun,
            () = self.stop.notified() => Err(Error::Cancelled),
        };
        let mut session = begun?;
        loop {
            self.round(agent, &mut session, &mut dialog, trace).await?;
            if let Some(found) = dialog.settle().map_err(plain)? {
                self.spent(found.usage.as_ref());
                if let Some(usage) = found.usage {
                    trace.consumed(usage);
                }
                return Plan::read(&found.value)
                    .map_err(|problem| Error::agent(ErrorCode::BackendError, problem));
            }
        }
    }

    /// One turn of the planner. What it looks at is shown; its answer is not, for it is no answer to the caller.
    async fn round(
        &mut self,
        agent: &AgentHandle,
        session: &mut SessionId,
        dialog: &mut Dialog,
        trace: &mut TurnTrace,
    ) -> Result<()> {
        let prompt = Prompt::from(dialog.prompt());
        let mut events = agent.prompt(session, prompt).await?;
        loop {
            let next = tokio::select! {
                next = events.recv() => next,
                () = self.stop.notified(), if !self.stopped => {
                    self.stopped = true;
                    let _ = agent.cancel(session).await;
                    continue;
                }
            };
            let Some(event) = next else { break };
            dialog.hear(&event);
            trace.hear(&event);
            match event {
                AgentEvent::SessionChanged { new_session_id } => {
                    *session = new_session_id.into();
                }
                AgentEvent::Thought(_)
                | AgentEvent::ToolStart { .. }
                | AgentEvent::ToolProgress { .. }
                | AgentEvent::ToolEnd { .. } => self.send(event).await,
                _ => {}
            }
        }
        match self.stopped {
            true => Err(Error::Cancelled),
            false => Ok(()),
        }
    }
}

/// Why there is no plan, as any other failure.
fn plain(error: windlass_core::structured::Error) -> Error {
    match *error.fault {
        Fault::Agent(error) => error,
        fault => Error::agent(ErrorCode::BackendError, fault.to_string()),
    }
}
