//! Tools for agents: list them and ask one.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_tasks::Scope;

use super::super::operation::{Effect, McpOperation, ToolReply, record};
use crate::board::Board;
use crate::call_slots::SlotKind;
use crate::error::ApiError;
use crate::host_ops::{AgentHealth, AskRequest};

/// How long an agent may take if the client sets no time.
const DEFAULT_ASK_SECS: u64 = 300;
/// The longest time that an agent may take.
const MAX_ASK_SECS: u64 = 3_600;
/// The maximum size of an answer, in bytes. A longer one is truncated and marked.
const MAX_ANSWER: usize = 128 << 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListAgents {}

impl McpOperation for ListAgents {
    const NAME: &'static str = "list_agents";
    const TITLE: &'static str = "List agents";
    const DESCRIPTION: &'static str =
        "Lists the agents with their capabilities, and whether they can be used.";
    const NEEDS: &'static [Scope] = &[Scope::Read];
    const EFFECT: Effect = Effect::Reads;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let agents = board.agents().await?;
        let usable = agents
            .iter()
            .filter(|agent| agent.health == AgentHealth::Ok);
        let names: Vec<&str> = usable.map(|agent| agent.name.as_str()).collect();
        let text = format!("usable agents: {}", names.join(", "));
        Ok(ToolReply::new(text, json!({ "agents": record(&agents)? })))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AskAgent {
    /// The prompt.
    prompt: String,
    /// The agent. Default: the configured one.
    agent: Option<String>,
    /// How long the agent may take, in seconds; default 300.
    #[schemars(range(min = 1, max = 3600))]
    timeout_secs: Option<u64>,
}

impl McpOperation for AskAgent {
    const NAME: &'static str = "ask_agent";
    const TITLE: &'static str = "Ask an agent";
    const DESCRIPTION: &'static str = "Sends one prompt to an agent and returns its answer. The agent can read the files \
        of the project and change nothing; use add_task for work.";
    // It starts an agent, and its answer may contain anything of the project.
    const NEEDS: &'static [Scope] = &[Scope::Read, Scope::Work];
    const EFFECT: Effect = Effect::RunsAgent;
    const SLOT: SlotKind = SlotKind::Ask;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let seconds = self.timeout_secs.unwrap_or(DEFAULT_ASK_SECS);
        let mut answer = board
            .ask(AskRequest {
                agent: self.agent.filter(|agent| !agent.is_empty()),
                prompt: self.prompt,
                timeout: Duration::from_secs(seconds.clamp(1, MAX_ASK_SECS)),
            })
            .await?;
        if answer.answer.len() > MAX_ANSWER {
            let end = answer.answer.floor_char_boundary(MAX_ANSWER);
            let cut = answer.answer.len() - end;
            answer.answer.truncate(end);
            answer.answer.push_str(&format!(" [… {cut} bytes cut]"));
        }
        let data = serde_json::to_value(&answer);
        let data = data.map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(ToolReply::new(answer.answer, data))
    }
}
