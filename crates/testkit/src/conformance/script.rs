//! What the agent of a case has to do.

use serde_json::json;
use windlass_core::{AgentEvent, Capabilities, Usage};

use crate::MockAgent;

/// The script of a case: prepare a mock or a scripted model for it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CaseScript {
    /// The case, as group and name: `cancel: in a tool`.
    pub case: String,
    /// The turns in order.
    pub turns: Vec<ScriptedTurn>,
}

/// One turn: the prompt, and what the agent has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptedTurn {
    /// The index of the case's session that the turn belongs to.
    pub session: usize,
    /// The exact prompt.
    pub prompt: String,
    /// What the agent has to do.
    pub act: Action,
}

/// What an agent has to do with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Answer with this text. All answers of a case that report usage report the same usage.
    Say(String),
    /// Answer with the text of the prompt, if the prompt arrived unchanged.
    EchoPrompt,
    /// Answer with the first prompt of this session, if the agent remembers it.
    RecallFirstPrompt,
    /// Call one tool, such as a shell, then answer with this text.
    UseTool {
        /// Whether the tool call succeeds.
        succeeds: bool,
        /// The answer after the tool call.
        say: String,
    },
    /// Emit nothing, and never end.
    Hang,
    /// Emit this text and then nothing more.
    SayThenHang(String),
    /// Start a tool call that does not end.
    HangInTool,
}

impl CaseScript {
    /// Returns the expected answer of this turn, if it has one.
    pub fn answer(&self, turn: &ScriptedTurn) -> Option<String> {
        match &turn.act {
            Action::Say(text) | Action::UseTool { say: text, .. } => Some(text.clone()),
            Action::EchoPrompt => Some(turn.prompt.clone()),
            Action::RecallFirstPrompt => {
                let mut turns = self.turns.iter();
                let first = turns.find(|other| other.session == turn.session);
                first.map(|first| first.prompt.clone())
            }
            Action::Hang | Action::SayThenHang(_) | Action::HangInTool => None,
        }
    }

    /// Creates a mock that follows the script.
    pub fn mock(&self) -> MockAgent {
        let mock = MockAgent::new().with_capabilities(Capabilities {
            streaming: true,
            load_session: true,
            tools: true,
            usage: true,
            ..Capabilities::default()
        });
        self.turns.iter().fold(mock, |mock, turn| {
            let events = self.events(turn);
            let expectation = mock.on_prompt(&turn.prompt);
            if turn.hangs() {
                expectation.hang_after(events)
            } else {
                expectation.respond_with(events)
            }
        })
    }

    fn events(&self, turn: &ScriptedTurn) -> Vec<AgentEvent> {
        let mut events = match &turn.act {
            Action::UseTool { succeeds, .. } => vec![tool_start(), tool_end(*succeeds)],
            Action::HangInTool => vec![tool_start()],
            Action::SayThenHang(text) => vec![AgentEvent::Text(text.clone())],
            _ => Vec::new(),
        };
        if let Some(answer) = self.answer(turn) {
            let (head, tail) = answer.split_at(answer.floor_char_boundary(answer.len() / 2));
            events.extend([head, tail].map(|chunk| AgentEvent::Text(chunk.to_owned())));
            events.push(AgentEvent::Result {
                text: answer,
                usage: Some(Usage {
                    input_tokens: 100,
                    output_tokens: 10,
                    ..Usage::default()
                }),
                metadata: json!({}),
            });
        }
        events
    }
}

impl ScriptedTurn {
    /// Returns `true` if the turn ends only when it is interrupted.
    pub fn hangs(&self) -> bool {
        matches!(
            self.act,
            Action::Hang | Action::SayThenHang(_) | Action::HangInTool
        )
    }
}

fn tool_start() -> AgentEvent {
    AgentEvent::ToolStart {
        id: "tool-1".to_owned(),
        name: "shell".to_owned(),
        input: json!({ "command": "true" }),
    }
}

fn tool_end(success: bool) -> AgentEvent {
    AgentEvent::ToolEnd {
        id: "tool-1".to_owned(),
        name: "shell".to_owned(),
        output: json!({ "exit_code": i32::from(!success) }),
        success,
        duration_ms: 1,
    }
}
