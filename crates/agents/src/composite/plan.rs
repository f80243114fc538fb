//! One who plans, and one who carries the plan out.

use serde_json::json;
use windlass_core::structured::{
    StructuredCall, StructuredErrorKind, ValidationPolicy, schema_mode_for,
};
use windlass_core::{
    AgentEvent, AgentHandle, Error, ErrorCode, PermissionPolicy, Plan, PlanEntry, PlanStatus,
    Prompt, Result, SchemaSetting, SessionId, SessionOptions, StructuredAgentTask, TurnTrace,
};

use super::turn::{CompositeTurn, NodeOutcome};

/// The places of the two.
const PLANNER: usize = 0;
const CODER: usize = 1;

impl CompositeTurn {
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
        let end = match self.run_node(CODER, &text, false).await {
            NodeOutcome::Finished(end) => end,
            NodeOutcome::FellBack(_) => {
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
        let mut trace = TurnTrace::start(&self.shared.clock, "plan", &name);
        let planned = self.request_plan(&agent, &mut trace).await;
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
            trace.fail_to_start(error);
        }
        self.send(trace.finish().to_event()).await;
        planned
    }

    async fn request_plan(&mut self, agent: &AgentHandle, trace: &mut TurnTrace) -> Result<Plan> {
        let task = StructuredAgentTask {
            name: "plan".to_owned(),
            prompt: Plan::prompt(&self.session.full_prompt(&self.prompt)),
            schema: Some(Plan::schema()),
            schema_mode: schema_mode_for(SchemaSetting::Auto, agent.capabilities()),
        };
        let mut dialog =
            StructuredCall::new(task, ValidationPolicy::default()).map_err(into_agent_error)?;
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
            self.planner_turn(agent, &mut session, &mut dialog, trace)
                .await?;
            if let Some(found) = dialog.finish_turn().map_err(into_agent_error)? {
                self.add_usage(found.usage.as_ref());
                if let Some(usage) = found.usage {
                    trace.add_usage(usage);
                }
                return Plan::from_value(&found.value)
                    .map_err(|problem| Error::agent(ErrorCode::BackendError, problem));
            }
        }
    }

    /// One turn of the planner. What it looks at is shown; its answer is not, for it is no answer to the caller.
    async fn planner_turn(
        &mut self,
        agent: &AgentHandle,
        session: &mut SessionId,
        dialog: &mut StructuredCall,
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
            dialog.on_event(&event);
            trace.on_event(&event);
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
fn into_agent_error(error: windlass_core::structured::Error) -> Error {
    match *error.fault {
        StructuredErrorKind::Agent(error) => error,
        fault => Error::agent(ErrorCode::BackendError, fault.to_string()),
    }
}
