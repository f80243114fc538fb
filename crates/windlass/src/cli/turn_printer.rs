//! Prints a turn: as text while it runs, as one JSON object, or as events.

use anstyle::Style;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;
use windlass_core::structured::{self, StructuredAnswer};
use windlass_core::{AgentEvent, DirAccess, Envelope, ErrorCode, SessionId, TraceNode, Usage};

pub(super) use windlass_server::brief;

use super::console::{BAD, Console, QUIET, WARNING};
use super::exit::{CliError, Exit};
use super::spinner::Spinner;
use super::tool_output::ToolOutputLines;

/// How a turn is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputMode {
    /// Stream the answer to stdout and tool calls to stderr
    #[default]
    Text,
    /// Print one JSON object when the turn ends
    Json,
    /// Print every event as one line of JSON
    Events,
}

/// Prints the events of a turn and collects its report.
pub(super) struct TurnPrinter<'a> {
    console: &'a Console,
    output: OutputMode,
    spinner: Spinner,
    mid_line: bool,
    streamed: bool,
    /// `true` if the answer is not streamed, but printed once it is complete and valid.
    buffered: bool,
    /// Whether the agent may not change files.
    is_read_only: bool,
    /// Whether the end of the turn reports it.
    has_note: bool,
    tool_output: ToolOutputLines,
    report: TurnReport,
    end: Option<AgentEvent>,
}

/// The turn as one JSON object.
#[derive(Debug, Serialize)]
struct TurnReport {
    agent: String,
    session: Option<SessionId>,
    status: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<u32>,
    tools: Vec<ToolReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(skip_serializing_if = "Value::is_null")]
    metadata: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorReport>,
    events: u64,
}

#[derive(Debug, Serialize)]
struct ToolReport {
    name: String,
    success: bool,
    duration_ms: u64,
}

#[derive(Debug, Serialize)]
struct ErrorReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<ErrorCode>,
    message: String,
    recoverable: bool,
}

impl<'a> TurnPrinter<'a> {
    pub(super) fn new(console: &'a Console, output: OutputMode, agent: &str) -> Self {
        let has_spinner = console.is_interactive() && output == OutputMode::Text;
        Self {
            console,
            output,
            spinner: Spinner::new(has_spinner, agent),
            mid_line: false,
            streamed: false,
            buffered: false,
            is_read_only: false,
            has_note: false,
            tool_output: ToolOutputLines::default(),
            report: TurnReport {
                agent: agent.to_owned(),
                session: None,
                status: "error",
                text: String::new(),
                structured: None,
                rounds: None,
                tools: Vec::new(),
                usage: None,
                metadata: Value::Null,
                error: None,
                events: 0,
            },
            end: None,
        }
    }

    /// Sets what the agent may change. If that is nothing, the end of the turn reports it: if the user requested it, or if
    /// a tool failed.
    pub(super) fn with_access(mut self, access: DirAccess, is_requested: bool) -> Self {
        self.is_read_only = access == DirAccess::ReadOnly;
        self.has_note = is_requested;
        self
    }

    /// Handles the next event.
    pub(super) fn show(&mut self, envelope: &Envelope) -> Result<(), CliError> {
        // The first session is recorded here; a later change of session is an event.
        let session = &mut self.report.session;
        session.get_or_insert_with(|| envelope.session.clone());
        self.report.events += 1;
        match self.output {
            OutputMode::Events => self.console.json(envelope)?,
            OutputMode::Json => {}
            OutputMode::Text => self.show_text(&envelope.event)?,
        }
        self.record(&envelope.event);
        Ok(())
    }

    /// From now on, the answer is printed only after it was accepted.
    pub(super) fn buffer_answer(&mut self) {
        self.buffered = true;
    }

    /// Prints that the turn is being cancelled.
    pub(super) fn print_interrupting(&self) {
        if self.output == OutputMode::Text {
            self.console
                .progress(QUIET, "cancelling; press Ctrl-C again to exit now");
        }
    }

    /// Prints the value of a structured call and returns the exit code.
    pub(super) fn finish_with_value(mut self, answer: StructuredAnswer) -> Result<Exit, CliError> {
        self.spinner.clear();
        if self.output == OutputMode::Text {
            self.console.value(&answer.value)?;
        }
        self.report.text = answer.text;
        self.report.structured = Some(answer.value);
        self.report.rounds = Some(answer.rounds);
        self.report.usage = answer.usage;
        self.finish()
    }

    /// Prints the error of a structured call and returns the exit code.
    pub(super) fn finish_with_error(mut self, error: structured::Error) -> Result<Exit, CliError> {
        self.report.rounds = Some(error.rounds);
        self.report.usage = error.usage.as_deref().cloned();
        if self.report.error.is_none() {
            // The agent's turns succeeded, but the answer was not accepted.
            let event = AgentEvent::Error {
                code: error.code(),
                message: error.to_string(),
                recoverable: true,
            };
            self.report.status = "error";
            self.record(&event);
        }
        self.finish()
    }

    /// Prints the report or the error, and returns the exit code.
    pub(super) fn finish(mut self) -> Result<Exit, CliError> {
        self.spinner.clear();
        if self.output == OutputMode::Json {
            self.console.json(&self.report)?;
        } else if let Some(error) = &self.report.error {
            self.console.error(&error.message);
        }
        if self.is_read_only && self.has_note && self.output == OutputMode::Text {
            self.console
                .notice("the turn was read-only: the agent could not change files");
        }
        Ok(self.end.as_ref().map_or(Exit::Failed, Exit::from_event))
    }

    fn show_text(&mut self, event: &AgentEvent) -> Result<(), CliError> {
        match event {
            AgentEvent::Text(_) | AgentEvent::Result { .. } if self.buffered => {}
            AgentEvent::Text(text) => {
                self.spinner.clear();
                self.console.text(text)?;
                self.streamed = true;
                self.mid_line = !text.ends_with('\n');
            }
            AgentEvent::Result { text, .. } if !self.streamed => {
                self.spinner.clear();
                self.console.line(&windlass_core::escape_control(text))?;
            }
            AgentEvent::ToolStart { name, input, .. } => {
                self.end_line()?;
                let line = format!("→ {name} {}", brief(input));
                self.spinner.suspend(|| self.console.progress(QUIET, &line));
                self.spinner.show(name);
            }
            AgentEvent::ToolProgress { id, update } => {
                for line in self.tool_output.update(id, update) {
                    self.end_line()?;
                    self.spinner.suspend(|| self.console.progress(QUIET, &line));
                }
            }
            AgentEvent::ToolEnd {
                name,
                success: false,
                output,
                ..
            } => {
                self.end_line()?;
                self.has_note = true;
                let line = format!("✗ {name} {}", brief(output));
                self.spinner.suspend(|| self.console.progress(BAD, &line));
            }
            AgentEvent::SessionChanged { new_session_id } => {
                self.end_line()?;
                self.console
                    .notice(&format!("the agent continues in session {new_session_id}"));
            }
            AgentEvent::Custom { .. } => {
                if let Some((style, line)) = custom_line(event) {
                    self.end_line()?;
                    self.spinner.suspend(|| self.console.progress(style, &line));
                }
            }
            event if event.is_terminal() => self.end_line()?,
            _ => {}
        }
        Ok(())
    }

    /// Prints a line between the events.
    pub(super) fn note(&mut self, line: &str) -> Result<(), CliError> {
        self.end_line()?;
        if self.output == OutputMode::Text {
            self.console.progress(QUIET, line);
        }
        Ok(())
    }

    /// Ends the line of an answer that is being streamed.
    pub(super) fn end_line(&mut self) -> Result<(), CliError> {
        if std::mem::take(&mut self.mid_line) {
            self.console.line("")?;
        }
        Ok(())
    }

    fn record(&mut self, event: &AgentEvent) {
        let report = &mut self.report;
        match event {
            AgentEvent::ToolEnd {
                name,
                success,
                duration_ms,
                ..
            } => report.tools.push(ToolReport {
                name: name.clone(),
                success: *success,
                duration_ms: *duration_ms,
            }),
            AgentEvent::Result {
                text,
                usage,
                metadata,
            } => {
                report.status = "result";
                report.text.clone_from(text);
                report.usage.clone_from(usage);
                report.metadata.clone_from(metadata);
            }
            AgentEvent::Error {
                code,
                message,
                recoverable,
            } => {
                report.error = Some(ErrorReport {
                    code: Some(*code),
                    message: message.clone(),
                    recoverable: *recoverable,
                });
            }
            AgentEvent::SessionInvalid { reason } => {
                report.status = "session_invalid";
                report.error = Some(ErrorReport {
                    code: None,
                    message: reason.clone(),
                    recoverable: true,
                });
            }
            AgentEvent::SessionChanged { new_session_id } => {
                report.session = Some(new_session_id.as_str().into());
            }
            _ => {}
        }
        if event.is_terminal() {
            self.end = Some(event.clone());
        }
    }
}

/// Formats an event that only some agents have; returns `None` if it is not worth showing.
pub(super) fn custom_line(event: &AgentEvent) -> Option<(Style, String)> {
    let AgentEvent::Custom { kind, payload } = event else {
        return None;
    };
    match kind.as_str() {
        "trace" => failed_node_line(payload).map(|line| (QUIET, line)),
        "retry" => Some((QUIET, retry_line(payload))),
        "blocked_connection" | "network_problem" => {
            let line = payload["message"].as_str().unwrap_or_default();
            Some((WARNING, line.to_owned()))
        }
        _ => None,
    }
}

/// Formats a step inside a turn; returns `None` unless it failed.
fn failed_node_line(payload: &Value) -> Option<String> {
    let node: TraceNode = serde_json::from_value(payload.clone()).ok()?;
    let error = node.error?;
    let message = brief(&Value::String(error.message));
    Some(format!("✗ {} {}: {message}", node.agent?, error.code))
}

/// Formats a retry that an agent makes on its own.
fn retry_line(payload: &Value) -> String {
    let number = |key: &str| payload[key].as_u64();
    let which = match (number("attempt"), number("of")) {
        (Some(attempt), Some(of)) => format!(" ({attempt} of {of})"),
        (Some(attempt), None) => format!(" ({attempt})"),
        _ => String::new(),
    };
    let code = payload["code"].as_str().unwrap_or_default();
    format!("↻ retry{which}: {code} {}", brief(&payload["message"]))
}
