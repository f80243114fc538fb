//! What an agent hands over to the next one, when it cannot go on: what it did, planned and said.

use std::collections::VecDeque;
use std::fmt::Write as _;

use windlass_core::{AgentEvent, PlanEntry, PlanStatus};

use crate::template::{render, truncate_end, truncate_middle};

/// Maximum number of tool calls, the last ones.
const MAX_CALLS: usize = 30;
/// Maximum size of the input of each tool call.
const MAX_INPUT_BYTES: usize = 200;
/// Maximum size of what the agent said, the end of it.
const MAX_TEXT_BYTES: usize = 4 << 10;
/// Maximum number of steps of the plan.
const MAX_STEPS: usize = 50;

/// What an agent did in a turn.
#[derive(Debug, Default)]
pub(super) struct TurnNotes {
    text: String,
    plan: Vec<PlanEntry>,
    /// The id of each tool call, and its description.
    calls: VecDeque<(String, String)>,
}

impl TurnNotes {
    pub(super) fn on_event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text(text) => {
                self.text.push_str(text);
                let excess = self.text.len().saturating_sub(2 * MAX_TEXT_BYTES);
                if excess > 0 {
                    let from = self.text.ceil_char_boundary(excess + MAX_TEXT_BYTES);
                    self.text.drain(..from);
                }
            }
            AgentEvent::Plan { entries } => {
                self.plan = entries.iter().take(MAX_STEPS).cloned().collect();
            }
            AgentEvent::ToolStart { id, name, input } => {
                let input = truncate_middle(&input.to_string(), MAX_INPUT_BYTES);
                let call = format!("{name} {}", input.replace('\n', " "));
                self.calls.push_back((id.clone(), call));
                if self.calls.len() > MAX_CALLS {
                    self.calls.pop_front();
                }
            }
            AgentEvent::ToolEnd {
                id, success: false, ..
            } => {
                let call = self.calls.iter_mut().rev().find(|(known, _)| known == id);
                if let Some((_, call)) = call {
                    call.push_str(" (failed)");
                }
            }
            _ => {}
        }
    }

    /// Returns the section of the prompt for the next agent.
    pub(super) fn hand_over(&self, error: &str, files: &[String]) -> String {
        let mut notes = String::new();
        if !files.is_empty() {
            let _ = writeln!(
                notes,
                "Files that are changed so far: {}\n",
                files.join(", ")
            );
        }
        if !self.plan.is_empty() {
            notes.push_str("Its plan:\n\n");
            for PlanEntry { step, status } in &self.plan {
                let mark = if *status == PlanStatus::Completed {
                    "x"
                } else {
                    " "
                };
                let _ = writeln!(notes, "- [{mark}] {step}");
            }
            notes.push('\n');
        }
        if !self.calls.is_empty() {
            notes.push_str("The last tools that it used:\n\n");
            for (_, call) in &self.calls {
                let _ = writeln!(notes, "- {call}");
            }
            notes.push('\n');
        }
        let said = self.text.trim();
        if !said.is_empty() {
            let from = said.ceil_char_boundary(said.len().saturating_sub(MAX_TEXT_BYTES));
            let _ = writeln!(notes, "What it said last:\n\n{}\n", &said[from..]);
        }
        let error = truncate_end(error, MAX_INPUT_BYTES);
        render(
            include_str!("../prompts/hand-over.md"),
            &[("error", &error), ("notes", notes.trim_end())],
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn next_agent_learns_what_was_done_planned_and_tried() {
        let mut notes = TurnNotes::default();
        for event in [
            AgentEvent::Plan {
                entries: vec![
                    PlanEntry {
                        step: "read".to_owned(),
                        status: PlanStatus::Completed,
                    },
                    PlanEntry {
                        step: "write".to_owned(),
                        status: PlanStatus::InProgress,
                    },
                ],
            },
            AgentEvent::ToolStart {
                id: "1".to_owned(),
                name: "shell".to_owned(),
                input: json!({"command": "cargo test"}),
            },
            AgentEvent::ToolEnd {
                id: "1".to_owned(),
                name: "shell".to_owned(),
                output: json!("no"),
                success: false,
                duration_ms: 1,
            },
            AgentEvent::Text("I have read it.".to_owned()),
        ] {
            notes.on_event(&event);
        }
        let text = notes.hand_over("usage limit", &["a.rs".to_owned(), "b.rs".to_owned()]);
        for part in [
            "usage limit",
            "a.rs, b.rs",
            "- [x] read\n- [ ] write\n",
            "- shell {\"command\":\"cargo test\"} (failed)",
            "I have read it.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn notes_are_bounded() {
        let mut notes = TurnNotes::default();
        for at in 0..10_000 {
            notes.on_event(&AgentEvent::Text(format!("ä{at} ").repeat(10)));
            notes.on_event(&AgentEvent::ToolStart {
                id: at.to_string(),
                name: "shell".to_owned(),
                input: json!("x".repeat(10_000)),
            });
        }
        let text = notes.hand_over(&"e".repeat(100_000), &[]);
        assert!(text.len() < 16 << 10, "{}", text.len());
        assert!(text.contains("ä9999"), "the end is kept");
    }
}
