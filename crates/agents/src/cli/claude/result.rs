//! The lines of stream-json about the turn itself: notices and the result.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::{AgentEvent, ErrorCode, Usage};

use super::turn_state::{ClaudeTurnState, StreamJsonQuirks};
use crate::cli::{Parsed, RunningTotal};
use crate::program::failure;

/// A line of type `system`.
#[derive(Deserialize)]
pub(super) struct SystemLine {
    subtype: String,
    session_id: Option<String>,
    attempt: Option<u64>,
    max_retries: Option<u64>,
    retry_delay_ms: Option<f64>,
    error_status: Option<u16>,
    error: Option<String>,
    tool_name: Option<String>,
    tool_use_id: Option<String>,
    message: Option<String>,
    data: Option<Value>,
    task_id: Option<String>,
    description: Option<String>,
    status: Option<Value>,
}

impl SystemLine {
    pub(super) fn parse(self, line: &str) -> Parsed {
        match self.subtype.as_str() {
            "init" => Parsed {
                session: self.session_id,
                ..Parsed::default()
            },
            "api_retry" => {
                let wait = self
                    .retry_delay_ms
                    .map(|ms| Duration::try_from_secs_f64(ms / 1000.0));
                Parsed::event(failure::retry(
                    self.attempt,
                    self.max_retries,
                    wait.and_then(Result::ok),
                    self.error_status,
                    &self.error.unwrap_or_default(),
                ))
            }
            "retry" => {
                let reason = self
                    .data
                    .as_ref()
                    .and_then(|data| data.get("reason")?.as_str());
                let reason = reason.unwrap_or_default();
                Parsed::event(failure::retry(None, None, None, None, reason))
            }
            "permission_denied" => Parsed::event(AgentEvent::custom(
                "permission_denied",
                json!({ "tool": self.tool_name, "id": self.tool_use_id, "message": self.message }),
            )),
            // A subagent or a command in the background. Its output is reported as progress of its tool.
            "task_started" | "task_progress" | "task_updated" | "task_notification"
            | "task_summary" => {
                let payload = json!({
                    "state": self.subtype.trim_start_matches("task_"),
                    "id": self.task_id,
                    "tool": self.tool_use_id,
                    "description": self.description,
                    "status": self.status,
                });
                Parsed::event(AgentEvent::custom("background_task", payload))
            }
            // Token counts of thoughts, which are also streamed as text, and a list of background tasks.
            "thinking_tokens" | "status" | "background_tasks_changed" => Parsed::default(),
            _ => Parsed::unparsed(line),
        }
    }
}

/// A line of type `result`. The subtype `success` in it does not mean success.
#[derive(Deserialize)]
pub(super) struct ResultLine {
    subtype: Option<String>,
    #[serde(default)]
    is_error: bool,
    api_error_status: Option<u16>,
    terminal_reason: Option<String>,
    result: Option<Value>,
    error: Option<Value>,
    errors: Option<Vec<Value>>,
    usage: Option<Tokens>,
    total_cost_usd: Option<f64>,
    model_usage_since_last_result: Option<BTreeMap<String, ModelUsage>>,
    duration_ms: Option<Value>,
    num_turns: Option<u64>,
    stop_reason: Option<String>,
    permission_denials: Option<Value>,
    #[serde(alias = "structured_result")]
    structured_output: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct ModelUsage {
    #[serde(rename = "costUSD")]
    cost_usd: Option<f64>,
}

impl ResultLine {
    pub(super) fn parse(self, turn: &mut ClaudeTurnState) -> Parsed {
        let total = self.total(turn.quirks);
        let usage = self.turn_usage(turn);
        turn.before = total.or(turn.before);
        let error = turn.error_answer.take();
        let failed = self.is_error
            || self
                .subtype
                .as_deref()
                .is_some_and(|it| it.starts_with("error"));
        let event = if failed {
            let (code, text) = error.map(|it| (it.code, it.text)).unwrap_or_default();
            self.failure(&code, text)
        } else {
            self.success(usage)
        };
        Parsed {
            total,
            ..Parsed::event(event)
        }
    }

    /// Returns the session's total usage, if the line has it. A failed turn may have no counts at all.
    fn total(&self, quirks: &StreamJsonQuirks) -> Option<RunningTotal> {
        if !quirks.running_total {
            return self.total_cost_usd.map(|cost| RunningTotal {
                cost,
                ..RunningTotal::default()
            });
        }
        let tokens = self.usage.as_ref()?;
        let total = RunningTotal {
            input: tokens.input_tokens,
            cached: tokens.cache_read_input_tokens.unwrap_or(0),
            output: tokens.output_tokens,
            ..RunningTotal::default()
        };
        (total.input > 0).then_some(total)
    }

    /// Returns the usage of this turn, or `None` if only the session's total is known and not the earlier
    /// usage.
    fn turn_usage(&self, turn: &ClaudeTurnState) -> Option<Usage> {
        let tokens = self.usage.as_ref()?;
        if turn.quirks.running_total {
            let used = self.total(turn.quirks)?.usage_since(turn.before?);
            return Some(Usage {
                cache_write_tokens: tokens.cache_creation_input_tokens,
                ..used
            });
        }
        Some(Usage {
            cost_usd: self.cost(turn.before),
            ..tokens.usage(turn.quirks.input_includes_cached)
        })
    }

    /// Returns the cost of this turn. The total that every version reports is the session's.
    fn cost(&self, before: Option<RunningTotal>) -> Option<f64> {
        if let Some(models) = &self.model_usage_since_last_result {
            return Some(models.values().filter_map(|model| model.cost_usd).sum());
        }
        let total = self.total_cost_usd?;
        let before = before?.cost;
        Some(if total < before {
            total
        } else {
            total - before
        })
    }

    fn success(self, usage: Option<Usage>) -> AgentEvent {
        let mut metadata = json!({
            "duration_ms": self.duration_ms,
            "num_turns": self.num_turns,
            "stop_reason": self.stop_reason,
        });
        let denials = self
            .permission_denials
            .filter(|denials| *denials != json!([]));
        for (key, value) in [
            ("structured_output", self.structured_output),
            ("permission_denials", denials),
        ] {
            if let Some(value) = value {
                metadata[key] = value;
            }
        }
        AgentEvent::Result {
            text: match self.result {
                Some(Value::String(text)) => text,
                Some(other) => other.to_string(),
                None => String::new(),
            },
            usage,
            metadata,
        }
    }

    fn failure(self, error_code: &str, error_text: String) -> AgentEvent {
        let text = |value: &Value| match value.as_str() {
            Some(text) => text.to_owned(),
            None => value
                .get("message")
                .and_then(Value::as_str)
                .map_or(value.to_string(), str::to_owned),
        };
        let errors = self
            .errors
            .iter()
            .flatten()
            .map(text)
            .collect::<Vec<_>>()
            .join("; ");
        let candidates = [
            self.result.as_ref().map(text),
            self.error.as_ref().map(text),
            Some(errors),
            Some(error_text),
            self.subtype,
        ];
        let message = candidates
            .into_iter()
            .flatten()
            .find(|text| !text.is_empty())
            .unwrap_or_default();
        if let Some(reason) = failure::session_lost_message(&message) {
            return AgentEvent::SessionInvalid { reason };
        }
        let aborted = self
            .terminal_reason
            .is_some_and(|reason| reason.starts_with("aborted"));
        if aborted {
            return failure::error_event_with_code(ErrorCode::Cancelled, None, "interrupted");
        }
        let code = match error_code {
            "authentication_failed" => ErrorCode::AuthFailed,
            "rate_limit" | "billing_error" => ErrorCode::RateLimited,
            _ => return failure::error_event(self.api_error_status, &message),
        };
        failure::error_event_with_code(code, self.api_error_status, &message)
    }
}

impl Tokens {
    fn usage(&self, input_includes_cached: bool) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        Usage {
            input_tokens: if input_includes_cached {
                self.input_tokens.saturating_sub(cached)
            } else {
                self.input_tokens
            },
            output_tokens: self.output_tokens,
            cache_read_tokens: self.cache_read_input_tokens,
            cache_write_tokens: self.cache_creation_input_tokens,
            cost_usd: None,
            extra: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn background_tasks_are_events() {
        let line = r#"{"type":"system","subtype":"task_started","task_id":"b1","tool_use_id":"toolu_1","description":"Wait","session_id":"s"}"#;
        let parsed = serde_json::from_str::<SystemLine>(line)
            .unwrap()
            .parse(line);
        let payload = json!({
            "state": "started", "id": "b1", "tool": "toolu_1", "description": "Wait", "status": null,
        });
        assert_eq!(
            parsed.events,
            [AgentEvent::custom("background_task", payload)]
        );
    }
}
