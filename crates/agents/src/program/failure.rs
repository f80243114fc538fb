//! Maps an agent's error messages to error codes.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::{AgentEvent, ErrorCode};
use windlass_sandbox::ExceededLimit;
use windlass_wire::wait_in_text;

use crate::bridge::BUDGET_EXCEEDED;

/// Maximum size of an error message or of the end of stderr, in bytes.
const TAIL_BYTES: usize = 2048;

/// Phrases that identify an error without a status, in the order in which they are tried.
const CODE_PHRASES: &[(ErrorCode, &[&str])] = &[
    (
        ErrorCode::RateLimited,
        &[
            "rate limit",
            "rate_limit",
            "too many requests",
            "quota",
            "usage limit",
            "credit balance",
            "billing",
        ],
    ),
    (
        ErrorCode::AuthFailed,
        &[
            "unauthorized",
            "key is not valid",
            "api key",
            "api_key",
            "authenticat",
            "missing environment variable",
            "not logged in",
            "log in",
            "sign in",
            "/login",
        ],
    ),
    (ErrorCode::Timeout, &["timed out", "timeout"]),
];

/// Messages of agents about a session that they do not have.
const SESSION_LOST_PHRASES: &[&str] = &[
    "no rollout found",
    "thread not found",
    "no conversation found",
    "no saved session",
    "invalid session identifier",
    "session not found",
    "chat not found",
];

/// Lines of standard error that carry no information.
const IGNORED_STDERR: &[&str] = &[
    "Reading additional input from stdin",
    "Reading prompt from stdin",
];

/// How a process ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessEnd<'a> {
    /// The exit code; 128 + n if signal n ended it.
    pub code: i32,
    /// Its output on standard error.
    pub stderr: &'a str,
}

/// Creates an error event. The code comes from the HTTP status if there is one, otherwise from the text.
pub(crate) fn error_event(status: Option<u16>, message: &str) -> AgentEvent {
    let status = status.or_else(|| status_in(message));
    error_event_with_code(code_of(status, message), status, message)
}

/// Returns the error code for an agent's message.
pub(crate) fn code(message: &str) -> ErrorCode {
    code_of(status_in(message), message)
}

fn code_of(status: Option<u16>, message: &str) -> ErrorCode {
    if message.contains(BUDGET_EXCEEDED) {
        return ErrorCode::BudgetExceeded;
    }
    let by_status = status.and_then(by_status);
    by_status.unwrap_or_else(|| by_phrases(message))
}

/// Creates an error event with a known code.
pub(crate) fn error_event_with_code(
    code: ErrorCode,
    status: Option<u16>,
    message: &str,
) -> AgentEvent {
    let code = if message.contains(BUDGET_EXCEEDED) {
        ErrorCode::BudgetExceeded
    } else {
        code
    };
    // The provider would reject the same request again.
    let rejected = matches!(status, Some(400 | 404 | 413 | 422)) || is_too_long(message);
    let mut message = tail(&readable(message));
    if code == ErrorCode::RateLimited
        && let Some(wait) = wait_in_text(&message)
    {
        message.push_str(&format!(" (wait {} s)", wait.as_secs_f64()));
    }
    AgentEvent::Error {
        code,
        message,
        recoverable: !rejected
            && matches!(
                code,
                ErrorCode::RateLimited
                    | ErrorCode::Timeout
                    | ErrorCode::SessionOrphaned
                    | ErrorCode::BackendError
            ),
    }
}

/// Returns the terminal event of an agent that exceeded a limit of the sandbox.
pub(crate) fn limit_error(agent: &str, exceeded: ExceededLimit) -> AgentEvent {
    AgentEvent::Error {
        code: ErrorCode::BudgetExceeded,
        message: format!("{agent} was killed: {exceeded}"),
        recoverable: false,
    }
}

/// Creates the terminal event of a process that exited without reporting a result. `message` is its last error
/// message, if there was one.
pub(crate) fn no_result_error(
    agent: &str,
    message: Option<&str>,
    ended: &ProcessEnd<'_>,
) -> AgentEvent {
    let stderr = relevant_stderr(ended.stderr);
    if let Some(reason) = session_lost_message(&stderr).or_else(|| session_lost_message(message?)) {
        return AgentEvent::SessionInvalid { reason };
    }
    let code = ended.code;
    match message.filter(|message| !message.trim().is_empty()) {
        Some(message) => error_event(None, message),
        None if stderr.is_empty() => error_event_with_code(
            ErrorCode::BackendError,
            None,
            &format!("{agent} ended with exit code {code} without reporting a result"),
        ),
        None => error_event(
            None,
            &format!("{agent} ended with exit code {code}: {stderr}"),
        ),
    }
}

/// Returns the end of the text, if it says that the agent does not have the session.
pub(crate) fn session_lost_message(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    SESSION_LOST_PHRASES
        .iter()
        .any(|phrase| lower.contains(phrase))
        .then(|| tail(text))
}

/// Creates the event for a retry that the agent makes on its own.
pub(crate) fn retry(
    attempt: Option<u64>,
    of: Option<u64>,
    wait: Option<Duration>,
    status: Option<u16>,
    message: &str,
) -> AgentEvent {
    let status = status.or_else(|| status_in(message));
    let code = code_of(status, message);
    let wait_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    AgentEvent::custom(
        "retry",
        json!({
            "attempt": attempt,
            "of": of,
            "wait_ms": wait_ms,
            "status": status,
            "code": code,
            "message": tail(message),
        }),
    )
}

fn by_status(status: u16) -> Option<ErrorCode> {
    Some(match status {
        401 | 403 => ErrorCode::AuthFailed,
        402 | 429 => ErrorCode::RateLimited,
        408 | 504 => ErrorCode::Timeout,
        400..=599 => ErrorCode::BackendError,
        _ => return None,
    })
}

fn by_phrases(text: &str) -> ErrorCode {
    let lower = text.to_lowercase();
    let found = CODE_PHRASES
        .iter()
        .find(|(_, phrases)| phrases.iter().any(|phrase| lower.contains(phrase)));
    found.map_or(ErrorCode::BackendError, |(code, _)| *code)
}

/// Returns an HTTP status that is a separate word after a word such as `status` or `Error:`.
fn status_in(text: &str) -> Option<u16> {
    let mut words = text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '"'));
    let mut before = "";
    words.find_map(|word| {
        let announcement = if word.is_empty() {
            before
        } else {
            std::mem::replace(&mut before, word)
        };
        let status: u16 = word.trim_end_matches([':', '.']).parse().ok()?;
        let announced = ["status", "status:", "error:", "code:", "http"]
            .iter()
            .any(|name| announcement.eq_ignore_ascii_case(name));
        (announced && (400..600).contains(&status)).then_some(status)
    })
}

fn is_too_long(text: &str) -> bool {
    [
        "context_length_exceeded",
        "maximum context length",
        "prompt is too long",
    ]
    .iter()
    .any(|phrase| text.contains(phrase))
}

/// Returns how long the provider asked to wait, if the terminal event contains it.
pub(crate) fn retry_after(end: &AgentEvent) -> Option<Duration> {
    match end {
        AgentEvent::Error {
            code: ErrorCode::RateLimited,
            message,
            ..
        } => wait_in_text(message),
        _ => None,
    }
}

/// Returns the message in a provider's JSON error, for agents that pass on the whole error.
fn readable(message: &str) -> Cow<'_, str> {
    let inner = message
        .trim_start()
        .starts_with('{')
        .then(|| serde_json::from_str::<Value>(message).ok())
        .flatten();
    match inner
        .as_ref()
        .and_then(|error| error["error"]["message"].as_str())
    {
        Some(sentence) => Cow::Owned(sentence.to_owned()),
        None => Cow::Borrowed(message),
    }
}

/// Returns the end of stderr, without the lines that carry no information.
pub(crate) fn relevant_stderr(stderr: &str) -> String {
    let lines = stderr.lines().map(str::trim_end);
    let relevant: Vec<&str> = lines
        .filter(|line| {
            !line.is_empty() && !IGNORED_STDERR.iter().any(|ignored| line.contains(ignored))
        })
        .collect();
    tail(&relevant.join("\n"))
}

/// Returns the end of a text, which is where agents put the reason.
fn tail(text: &str) -> String {
    let text = text.trim();
    let from = text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES));
    match from {
        0 => text.to_owned(),
        _ => format!("… {}", &text[from..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, code: ErrorCode, recoverable: bool) {
        let AgentEvent::Error {
            code: actual_code,
            recoverable: actual,
            ..
        } = error_event(None, message)
        else {
            panic!("no error");
        };
        assert_eq!((actual_code, actual), (code, recoverable), "{message}");
    }

    #[test]
    fn real_error_messages_are_classified() {
        use ErrorCode::*;
        check(
            "unexpected status 401 Unauthorized: Incorrect API key provided: x., url: y",
            AuthFailed,
            false,
        );
        check("unexpected status 403 Forbidden: no", AuthFailed, false);
        check(
            "exceeded retry limit, last status: 429 Too Many Requests, request id: r",
            RateLimited,
            true,
        );
        check(
            "Quota exceeded. Check your plan and billing details.",
            RateLimited,
            true,
        );
        check("Missing environment variable: `KEY`.", AuthFailed, false);
        check(
            "stream disconnected before completion: 401 bytes left",
            BackendError,
            true,
        );
        check(
            "[API Error: 401 Incorrect API key provided]",
            AuthFailed,
            false,
        );
        check("API Error: 400 fake 400", BackendError, false);
        check(
            "{\"error\": {\"code\": \"context_length_exceeded\"}}",
            BackendError,
            false,
        );
        check("Request timed out", Timeout, true);
        check("Press any key to sign in...", AuthFailed, false);
        check("", BackendError, true);
    }
}
