//! The `plan_execute` composite: one node plans, the other executes the plan.

use serde_json::json;
use windlass_core::structured::{
    Round, StructuredCall, StructuredErrorKind, TurnFailure, TurnRunner, ValidationPolicy,
};
use windlass_core::{
    AgentEvent, AgentHandle, DirAccess, Error, ErrorCode, Plan, PlanEntry, PlanStatus, Prompt,
    Result, SchemaSetting, SessionId, SessionOptions, StructuredAgentTask, TurnTrace,
};

use super::turn::{CompositeTurn, NodeOutcome};

/// Index of the node that plans.
const PLANNER: usize = 0;
/// Index of the node that executes the plan.
const CODER: usize = 1;

impl CompositeTurn {
    /// Runs the planner, then sends the plan's `coder_prompt` verbatim to the coder.
    pub(super) async fn plan_and_execute(&mut self) -> AgentEvent {
        let mut text = self.prompt.clone();
        let mut plan = None;
        // There is nothing to plan for an empty prompt. The coder handles it.
        if !text.trim().is_empty() {
            let created = match self.plan().await {
                Ok(created) => created,
                Err(error) => return error.into(),
            };
            let entries = created.plan.iter().map(|step| PlanEntry {
                step: step.clone(),
                status: PlanStatus::Pending,
            });
            let entries = entries.collect();
            self.send(AgentEvent::Plan { entries }).await;
            text.clone_from(&created.coder_prompt);
            plan = Some(created);
        }
        let end = match self.run_node(CODER, &text, false).await {
            NodeOutcome::Finished(end) => end,
            NodeOutcome::FellBack(_) => {
                Error::agent(ErrorCode::Unknown, "the plan was not executed").into()
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

    /// Requests the plan. The planner is read-only and receives the whole conversation.
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
            schema_mode: agent.schema_mode(SchemaSetting::Auto),
        };
        let call =
            StructuredCall::new(task, ValidationPolicy::default()).map_err(into_agent_error)?;
        let options = SessionOptions {
            cwd: self.session.options.cwd.clone(),
            mcp_servers: self.session.options.mcp_servers.clone(),
            access: DirAccess::ReadOnly,
            // A plan is one answer.
            without_tools: true,
            readable: self.session.options.readable.clone(),
            once: self.session.options.once,
            ..SessionOptions::default()
        };
        let opened = tokio::select! {
            opened = agent.new_session(call.session_options(options)) => opened,
            () = self.stop.notified() => Err(Error::Cancelled),
        };
        let session = opened?;
        let mut turns = PlannerTurns {
            composite: self,
            agent,
            session,
            trace,
        };
        let answer = call.run(&mut turns).await?.map_err(into_agent_error)?;
        self.add_usage(answer.usage.as_ref());
        if let Some(usage) = answer.usage {
            trace.add_usage(usage);
        }
        Plan::from_value(&answer.value)
            .map_err(|problem| Error::agent(ErrorCode::BackendError, problem))
    }
}

/// Runs the turns of the planner. Its tool calls and reasoning are sent to the caller. Its answer is not, because it is
/// not meant for the caller.
struct PlannerTurns<'a> {
    composite: &'a mut CompositeTurn,
    agent: &'a AgentHandle,
    session: SessionId,
    trace: &'a mut TurnTrace,
}

impl TurnRunner for PlannerTurns<'_> {
    type Stop = Error;

    async fn run_turn(&mut self, round: &mut Round<'_>) -> Result<(), TurnFailure<Error>> {
        let prompt = Prompt::from(round.prompt());
        let mut events = self.agent.prompt(&self.session, prompt).await?;
        loop {
            let next = tokio::select! {
                next = events.recv() => next,
                () = self.composite.stop.notified(), if !self.composite.stopped => {
                    self.composite.stopped = true;
                    let _ = self.agent.cancel(&self.session).await;
                    continue;
                }
            };
            let Some(event) = next else { break };
            round.on_event(&event);
            self.trace.on_event(&event);
            match event {
                AgentEvent::SessionChanged { new_session_id } => {
                    self.session = new_session_id.into();
                }
                AgentEvent::Thought(_)
                | AgentEvent::ToolStart { .. }
                | AgentEvent::ToolProgress { .. }
                | AgentEvent::ToolEnd { .. } => self.composite.send(event).await,
                _ => {}
            }
        }
        if self.composite.stopped {
            Err(TurnFailure::Stopped(Error::Cancelled))
        } else {
            Ok(())
        }
    }
}

/// Converts a structured-output error into an agent error.
fn into_agent_error(error: windlass_core::structured::Error) -> Error {
    match *error.kind {
        StructuredErrorKind::Agent(error) => error,
        kind => Error::agent(ErrorCode::BackendError, kind.to_string()),
    }
}
