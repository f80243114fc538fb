//! Events as lines of text, for a person or a model.

use std::time::Duration;

use serde_json::Value;
use windlass_core::AgentEvent;
use windlass_tasks::Broadcast;

/// Formats a message as a line; returns `None` for messages that are not shown, such as text chunks.
pub fn event_line(message: &Broadcast) -> Option<String> {
    Some(match message {
        Broadcast::TaskStatus { status, .. } => format!("is {status}"),
        Broadcast::TestResult {
            status,
            summary: Some(summary),
            ..
        } => format!("tests {}: {}", status.as_str(), first_line(summary)),
        Broadcast::TestResult {
            status,
            passed,
            failed,
            errors,
            duration,
            ..
        } => format!(
            "tests {}: {passed} passed, {failed} failed, {errors} errors in {duration:.1} s",
            status.as_str()
        ),
        Broadcast::CorrectionAttempt {
            attempt_num,
            max_attempts,
            status,
            error_summary,
            ..
        } => {
            let why = error_summary.as_deref().map(first_line);
            let why = why.map(|why| format!(", {why}")).unwrap_or_default();
            format!("correction {attempt_num} of {max_attempts}: {status}{why}")
        }
        Broadcast::ActivityUpdate { message, .. } => first_line(message).to_owned(),
        Broadcast::AgentEvent { envelope, .. } => return event(&envelope.event),
        _ => return None,
    })
}

fn event(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::ToolStart { name, input, .. } => format!("→ {name} {}", about(input)),
        AgentEvent::ToolEnd {
            name,
            output,
            success,
            duration_ms,
            ..
        } => {
            let duration = format_duration(*duration_ms);
            if *success {
                format!("✓ {name}, {duration}")
            } else {
                format!("✗ {name}, {duration}: {}", brief(output))
            }
        }
        AgentEvent::Result { text, .. } => format!("“{}”", first_line(text)),
        AgentEvent::Error { code, message, .. } => format!("{code}: {}", first_line(message)),
        AgentEvent::SessionInvalid { reason } => first_line(reason).to_owned(),
        AgentEvent::PermissionRequest { tool, input, .. } => {
            format!("requests permission: {tool} {}", brief(input))
        }
        _ => return None,
    })
}

fn format_duration(milliseconds: u64) -> String {
    match milliseconds {
        short @ 0..1000 => format!("{short} ms"),
        long => format!("{:.1} s", Duration::from_millis(long).as_secs_f64()),
    }
}

/// Summarizes a tool's input: the file, relative to the project, or the command.
fn about(input: &Value) -> String {
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.pointer(key)?.as_str());
    let path = text(&["/path", "/file_path", "/filePath", "/changes/0/path"]);
    let Some(path) = path else {
        let command = text(&["/cmd", "/command"]).map(Value::from);
        return brief(command.as_ref().unwrap_or(input));
    };
    // For a file in an attempt's clone, show only the path inside the clone.
    let inner = path
        .split_once("-attempt-")
        .and_then(|(_, rest)| rest.splitn(3, '/').nth(2));
    inner.unwrap_or(path).to_owned()
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

/// Returns the beginning of a value as one short line.
pub fn brief(value: &Value) -> String {
    const LENGTH: usize = 120;
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(LENGTH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
