//! What the agent of a case is to do.

use serde_json::json;
use windlass_core::{AgentEvent, Capabilities, Usage};

use crate::MockAgent;

/// The whole of a case, as the agent will live it: prepare a mock or a script for it.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseScript {
    /// The case, as group and name: `cancel: in a tool`.
    pub case: String,
    /// The turns in the order in which they come.
    pub scenes: Vec<ScriptedTurn>,
}

/// One turn: what the agent will be told, and what it is to do then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedTurn {
    /// Which of the case's sessions the turn belongs to, counted from zero.
    pub session: usize,
    /// The prompt, to the byte.
    pub prompt: String,
    /// What the agent is to do.
    pub act: Action,
}

/// What an agent is to do with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Say this and end. Every answer of a case that costs something costs the same.
    Say(String),
    /// Say what the prompt says and end, if the prompt came as the scene has it.
    EchoPrompt,
    /// Say what the first prompt of this session said and end, if the agent remembers it.
    RecallFirstPrompt,
    /// Use one tool, such as a shell, then say this and end.
    UseTool {
        /// Whether the tool does what it is asked.
        succeeds: bool,
        /// What to say after it.
        say: String,
    },
    /// Never say anything.
    Hang,
    /// Say this and then nothing more.
    SayThenHang(String),
    /// Begin to use a tool that does not end.
    HangInTool,
}

impl CaseScript {
    /// What the agent has to say in the end of this scene, where it comes to an end.
    pub fn answer(&self, scene: &ScriptedTurn) -> Option<String> {
        match &scene.act {
            Action::Say(text) | Action::UseTool { say: text, .. } => Some(text.clone()),
            Action::EchoPrompt => Some(scene.prompt.clone()),
            Action::RecallFirstPrompt => {
                let mut scenes = self.scenes.iter();
                let first = scenes.find(|other| other.session == scene.session);
                first.map(|first| first.prompt.clone())
            }
            Action::Hang | Action::SayThenHang(_) | Action::HangInTool => None,
        }
    }

    /// A mock that does what the stage says.
    pub fn mock(&self) -> MockAgent {
        let mock = MockAgent::new().with_capabilities(Capabilities {
            streaming: true,
            load_session: true,
            tools: true,
            usage: true,
            ..Capabilities::default()
        });
        self.scenes.iter().fold(mock, |mock, scene| {
            let events = self.events(scene);
            let expectation = mock.on_prompt(&scene.prompt);
            if scene.hangs() {
                expectation.hang_after(events)
            } else {
                expectation.respond_with(events)
            }
        })
    }

    fn events(&self, scene: &ScriptedTurn) -> Vec<AgentEvent> {
        let mut events = match &scene.act {
            Action::UseTool { succeeds, .. } => vec![tool_start(), tool_end(*succeeds)],
            Action::HangInTool => vec![tool_start()],
            Action::SayThenHang(text) => vec![AgentEvent::Text(text.clone())],
            _ => Vec::new(),
        };
        if let Some(answer) = self.answer(scene) {
            let (head, tail) = answer.split_at(answer.floor_char_boundary(answer.len() / 2));
            events.extend([head, tail].map(|piece| AgentEvent::Text(piece.to_owned())));
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
    /// Whether the turn only ends when it is broken off.
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
