//! Shows a turn on a terminal: rendered text, tool calls, changes of files and permission requests.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use anstyle::Style;
use serde_json::Value;
use windlass_acp::{ToolSummary, summarize_tool};
use windlass_core::{
    AgentEvent, Clock, ErrorCode, PermissionRequest, PlanEntry, PlanStatus, SystemClock, Usage,
    escape_control, escape_line,
};

use super::diff_view;
use super::markdown::Markdown;
use super::terminal;
use crate::cli::console::{BAD, Console, GOOD, QUIET, STRONG, WARNING};
use crate::cli::exit::CliError;
use crate::cli::spinner::Spinner;
use crate::cli::turn_printer::custom_line;

/// Maximum number of lines that are shown of the output of a tool.
const MAX_OUTPUT_LINES: usize = 5;
/// Maximum number of lines that are shown of the output of a tool that failed.
const MAX_FAILURE_LINES: usize = 12;
/// Maximum number of open tools that are remembered.
const MAX_TOOLS: usize = 256;

/// The view of one turn.
pub(super) struct TurnView<'a> {
    console: &'a Console,
    cwd: &'a Path,
    agent: &'a str,
    spinner: Option<Spinner>,
    clock: SystemClock,
    text: Option<Markdown>,
    has_text: bool,
    tools: HashMap<String, (String, Value, ToolSummary)>,
    plan: Vec<PlanEntry>,
    /// Hosts that the sandbox did not let the agent connect to.
    blocked: BTreeSet<String>,
}

impl<'a> TurnView<'a> {
    pub(super) fn new(console: &'a Console, cwd: &'a Path, agent: &'a str) -> Self {
        let mut view = Self {
            console,
            cwd,
            agent,
            spinner: None,
            clock: SystemClock::new(),
            text: None,
            has_text: false,
            tools: HashMap::new(),
            plan: Vec::new(),
            blocked: BTreeSet::new(),
        };
        view.wait("starting");
        view
    }

    /// Shows an event.
    pub(super) fn show(&mut self, event: &AgentEvent) -> Result<(), CliError> {
        match event {
            AgentEvent::Text(text) => self.show_text(text)?,
            AgentEvent::Thought(_) if self.text.is_none() => self.wait("thinking"),
            AgentEvent::Plan { entries } => self.show_plan(entries)?,
            AgentEvent::ToolStart { id, name, input } => self.start_tool(id, name, input)?,
            AgentEvent::ToolEnd {
                id,
                output,
                success,
                ..
            } => self.end_tool(id, output, *success)?,
            AgentEvent::Result { text, usage, .. } => {
                if !self.has_text && !text.trim().is_empty() {
                    self.show_text(text)?;
                }
                self.end_text()?;
                let line = summary(usage.as_ref(), self.clock.elapsed());
                self.console.progress(QUIET, &line);
            }
            AgentEvent::Error {
                code: ErrorCode::Cancelled,
                ..
            } => {
                self.end_text()?;
                self.console.progress(WARNING, "stopped");
            }
            AgentEvent::Error { message, .. } | AgentEvent::SessionInvalid { reason: message } => {
                self.end_text()?;
                self.console.error(message);
            }
            AgentEvent::Custom { kind, payload } if kind == "blocked_connection" => {
                self.blocked
                    .extend(payload["host"].as_str().map(str::to_owned));
            }
            AgentEvent::Custom { .. } => {
                if let Some((style, line)) = custom_line(event) {
                    self.end_text()?;
                    self.print(style, &line);
                    self.wait("working");
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Shows a line between the events.
    pub(super) fn note(&mut self, line: &str) -> Result<(), CliError> {
        self.end_text()?;
        self.print(WARNING, line);
        Ok(())
    }

    /// Shows a permission request with its options.
    pub(super) fn ask(&mut self, request: &PermissionRequest) -> Result<(), CliError> {
        self.end_text()?;
        let is_about = |id: &str, name: &str, input: &Value| {
            let numbered = request.id.strip_prefix(id);
            request.id == id
                || numbered.is_some_and(|rest| rest.starts_with('#'))
                || request.input["item"].as_str() == Some(id)
                || (name == request.tool && *input == request.input)
        };
        let shown = self
            .tools
            .iter()
            .find(|(id, (name, input, _))| is_about(id, name, input));
        let title = match shown {
            // What it would change is on the screen already.
            Some((_, (_, _, summary))) => summary.title.clone(),
            None => {
                let summary = summarize_tool(&request.tool, &request.input, self.cwd);
                self.show_edits(&summary)?;
                summary.title
            }
        };
        let line = format!("? {} requests permission: {title}", self.agent);
        self.print(WARNING, &line);
        for (index, option) in request.options.iter().enumerate() {
            let line = format!("  {}  {}", index + 1, option.label);
            self.print(STRONG, &line);
        }
        Ok(())
    }

    /// Ends the view, whatever was shown last.
    pub(super) fn finish(&mut self) -> Result<(), CliError> {
        self.end_text()?;
        if !self.blocked.is_empty() {
            let hosts: Vec<&str> = self.blocked.iter().map(String::as_str).collect();
            let hosts = hosts.join(", ");
            let line =
                format!("  blocked connections to {hosts}; `network` lists the allowed hosts");
            self.print(QUIET, &line);
        }
        Ok(())
    }

    /// Prints a line, wrapped at the width of the terminal.
    fn print(&self, style: Style, line: &str) {
        for line in terminal::wrapped(line) {
            self.console.progress(style, &line);
        }
    }

    fn show_text(&mut self, text: &str) -> Result<(), CliError> {
        self.stop_waiting();
        self.has_text = true;
        let markdown = self
            .text
            .get_or_insert_with(|| Markdown::new(terminal::width()));
        let out = markdown.push(&escape_control(text));
        self.console.styled(&out)?;
        Ok(())
    }

    fn end_text(&mut self) -> Result<(), CliError> {
        self.stop_waiting();
        if let Some(mut markdown) = self.text.take() {
            let out = markdown.finish();
            self.console.styled(&out)?;
        }
        Ok(())
    }

    fn start_tool(&mut self, id: &str, name: &str, input: &Value) -> Result<(), CliError> {
        self.end_text()?;
        let summary = summarize_tool(name, input, self.cwd);
        self.print(STRONG, &format!("● {}", summary.title));
        self.show_edits(&summary)?;
        self.wait(&summary.title);
        if self.tools.len() < MAX_TOOLS {
            let tool = (name.to_owned(), input.clone(), summary);
            self.tools.insert(id.to_owned(), tool);
        }
        Ok(())
    }

    fn show_edits(&self, summary: &ToolSummary) -> Result<(), CliError> {
        for edit in &summary.edits {
            let path = escape_line(&edit.path);
            self.console.line(&format!("  {QUIET}{path}{QUIET:#}"))?;
            for line in diff_view::edit_lines(edit) {
                self.console.line(&format!("  {line}"))?;
            }
        }
        Ok(())
    }

    fn end_tool(&mut self, id: &str, output: &Value, success: bool) -> Result<(), CliError> {
        self.end_text()?;
        let has_edits = self
            .tools
            .remove(id)
            .is_some_and(|(_, _, summary)| !summary.edits.is_empty());
        let (style, max) = if success {
            (QUIET, MAX_OUTPUT_LINES)
        } else {
            self.console.progress(BAD, "  ✗ failed");
            (BAD, MAX_FAILURE_LINES)
        };
        // A change was shown when it was requested.
        if !(success && has_edits) {
            for line in output_lines(output, max, terminal::width().saturating_sub(4)) {
                self.console.progress(style, &format!("  │ {line}"));
            }
        }
        self.wait("working");
        Ok(())
    }

    fn show_plan(&mut self, entries: &[PlanEntry]) -> Result<(), CliError> {
        if self.plan == entries {
            return Ok(());
        }
        self.end_text()?;
        for entry in entries {
            let (mark, style) = match entry.status {
                PlanStatus::Completed => ('✓', GOOD),
                PlanStatus::InProgress => ('▸', STRONG),
                _ => ('·', QUIET),
            };
            self.print(style, &format!("  {mark} {}", entry.step));
        }
        self.plan = entries.to_vec();
        self.wait("working");
        Ok(())
    }

    /// Shows the spinner.
    fn wait(&mut self, what: &str) {
        let width = terminal::width().saturating_sub(20);
        let what: String = format!("{} · {what}", self.agent)
            .chars()
            .take(width)
            .collect();
        match &self.spinner {
            Some(spinner) => spinner.show(&what),
            None => {
                let what = escape_line(&what).into_owned();
                self.spinner = Some(Spinner::new(true, &what));
            }
        }
    }

    fn stop_waiting(&mut self) {
        if let Some(mut spinner) = self.spinner.take() {
            spinner.clear();
        }
    }
}

/// Returns the first lines of a tool's output.
fn output_lines(output: &Value, max: usize, width: usize) -> Vec<String> {
    let text = output_text(output);
    let all: Vec<&str> = text.trim_end().lines().collect();
    let mut lines: Vec<String> = all
        .iter()
        .take(max)
        .map(|line| {
            let line = line.replace('\t', "    ");
            match line.char_indices().nth(width) {
                Some((at, _)) => format!("{}…", &line[..at]),
                None => line,
            }
        })
        .collect();
    if all.len() > max {
        lines.push(format!("… {} more lines", all.len() - max));
    }
    lines
}

/// Returns the text in a tool's output. Agents nest it differently.
fn output_text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().map(output_text).collect();
            texts.join("\n")
        }
        Value::Object(fields) => {
            let keys = [
                "aggregated_output",
                "output",
                "text",
                "content",
                "stdout",
                "error",
                "message",
            ];
            let found = keys.iter().find_map(|key| fields.get(*key));
            found.map(output_text).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// Returns one line about a finished turn: its usage and duration.
fn summary(usage: Option<&Usage>, took: Duration) -> String {
    let mut parts = Vec::new();
    if let Some(usage) = usage {
        parts.push(format!(
            "{} tokens in, {} out",
            usage.input_tokens + usage.cache_read_tokens.unwrap_or(0),
            usage.output_tokens
        ));
        if let Some(cost) = usage.cost_usd {
            parts.push(format!("${cost:.4}"));
        }
    }
    parts.push(format!("{:.1} s", took.as_secs_f64()));
    format!("  {}", parts.join(" · "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn output_of_tools_is_shortened() {
        let check = |output: Value, expected: &[&str]| {
            assert_eq!(output_lines(&output, 2, 6), expected, "{output}");
        };
        check(json!("one\ntwo\n"), &["one", "two"]);
        check(json!("1\n2\n3\n4"), &["1", "2", "… 2 more lines"]);
        check(
            json!([{ "type": "text", "text": "longer line" }]),
            &["longer…"],
        );
        check(json!({ "aggregated_output": "x", "exit_code": 0 }), &["x"]);
        check(json!({ "other": 1 }), &[]);
        check(Value::Null, &[]);
    }

    #[test]
    fn summary_has_usage_and_time() {
        let usage = Usage {
            input_tokens: 10,
            output_tokens: 5,
            cache_read_tokens: Some(90),
            cost_usd: Some(0.0123),
            ..Usage::default()
        };
        let took = Duration::from_millis(1500);
        assert_eq!(
            summary(Some(&usage), took),
            "  100 tokens in, 5 out · $0.0123 · 1.5 s"
        );
        assert_eq!(summary(None, took), "  1.5 s");
    }
}
