//! Validation of requests before an agent or a model is called.

use serde_json::Value;
use windlass_agents::model::hosted_tool;
use windlass_wire::{
    Dialect, ErrorKind, ModelError, ModelRequest, Part, ToolChoice, ToolDefinition,
};

/// The maximum number of tokens that a request may ask for.
const MAX_TOKENS: u64 = 10_000_000;
/// The maximum number of tools that are described in a prompt.
const MAX_TRANSCRIPT_TOOLS: usize = 128;

/// Fields that choose where a key is sent, or which command is run. They belong to the configuration. A
/// request with such a field is rejected instead of ignoring the field, because its sender would assume that
/// it was applied.
const FORBIDDEN_FIELDS: [&str; 33] = [
    "api_base",
    "api_key",
    "api_type",
    "api_version",
    "args",
    "authorization",
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "azure_ad_token",
    "base_url",
    "command",
    "credentials",
    "custom_llm_provider",
    "cwd",
    "default_headers",
    "endpoint",
    "env",
    "extra_body",
    "extra_headers",
    "extra_query",
    "fallbacks",
    "headers",
    "http_client",
    "litellm_params",
    "model_list",
    "permissions",
    "proxies",
    "proxy",
    "url",
    "user_config",
    "vertex_credentials",
    "x_api_key",
];

/// Fields that would need state between requests, and the alternative.
const STATEFUL_FIELDS: [(&str, &str); 4] = [
    ("previous_response_id", "send the whole conversation"),
    ("conversation", "send the whole conversation"),
    ("prompt", "send the instructions themselves"),
    ("functions", "offer them as `tools`"),
];

/// Validates the request, independent of the model.
pub(crate) fn validate_request(request: &ModelRequest) -> Result<(), ModelError> {
    for key in request.extra.keys() {
        let plain = key.to_ascii_lowercase().replace('-', "_");
        if FORBIDDEN_FIELDS.contains(&plain.as_str()) {
            return Err(invalid_request(format!(
                "`{key}` cannot be set by a request: it belongs to the configuration"
            )));
        }
    }
    let given = |key: &str| request.extra.get(key).filter(|value| !value.is_null());
    for (key, instead) in STATEFUL_FIELDS {
        if given(key).is_some() {
            return Err(invalid_request(format!(
                "`{key}` is not supported because requests are stateless: {instead}"
            )));
        }
    }
    if given("background").is_some_and(|value| value != false) {
        return Err(invalid_request(
            "`background` is not supported: use `stream`",
        ));
    }
    for key in ["n", "best_of"] {
        if given(key).is_some_and(|value| value != 1) {
            return Err(invalid_request(format!(
                "`{key}` must be 1: an agent returns one answer; send another request for another answer"
            )));
        }
    }
    for key in ["logprobs", "top_logprobs"] {
        if given(key).is_some_and(|value| *value != false && *value != 0) {
            return Err(invalid_request(format!(
                "`{key}` is not supported: the answer has no log probabilities"
            )));
        }
    }
    if let Some(option) = request.extra.get("stream_options").and_then(unknown_option) {
        return Err(invalid_request(format!(
            "`stream_options.{option}` is not supported: only include_usage is"
        )));
    }
    if let Some(tokens) = request.max_tokens.filter(|n| !(1..=MAX_TOKENS).contains(n)) {
        return Err(invalid_request(format!(
            "max_tokens: {tokens} is not between 1 and {MAX_TOKENS}"
        )));
    }
    if request.messages.is_empty() {
        return Err(invalid_request("messages must not be empty"));
    }
    Ok(())
}

/// Returns an option of a stream that is set and that no part of this server reads. Padding against the measurement of
/// chunk sizes is off, whatever is asked.
fn unknown_option(options: &Value) -> Option<&String> {
    let mut options = options.as_object()?.iter();
    let is_set = |value: &Value| *value != false && !value.is_null();
    let found = options.find(|(name, value)| *name != "include_obfuscation" && is_set(value));
    found.map(|(name, _)| name)
}

/// Returns `true` if the request has tools that may be called.
pub(crate) fn may_call_tools(request: &ModelRequest) -> bool {
    !request.tools.is_empty() && request.tool_choice != Some(ToolChoice::None)
}

/// Rejects what an agent that accepts only text cannot process.
pub(crate) fn validate_text_only(
    request: &ModelRequest,
    agent: &str,
    transcript_tools: bool,
) -> Result<(), ModelError> {
    if may_call_tools(request) {
        validate_tools(request, agent, transcript_tools)?;
    }
    for (at, message) in request.messages.iter().enumerate() {
        let what = message.parts.iter().find_map(|part| match part {
            Part::Image(_) => Some("an image"),
            Part::Opaque(_) => Some("content that is not text"),
            _ => None,
        });
        if let Some(what) = what {
            return Err(invalid_request(format!(
                "{agent} accepts only text, but message {} contains {what}",
                at + 1
            )));
        }
    }
    Ok(())
}

/// Rejects tools that an agent which accepts only text cannot call.
fn validate_tools(
    request: &ModelRequest,
    agent: &str,
    transcript_tools: bool,
) -> Result<(), ModelError> {
    if !transcript_tools {
        let tool = request.tools.first().and_then(ToolDefinition::name);
        let tool = tool.unwrap_or("without a name");
        return Err(invalid_request(format!(
            "{agent} is served as text only and cannot call the tool {tool}: send no tools, use a model behind HTTP, or set \
             tool_calls = \"transcript\" for it in [model_list]"
        )));
    }
    if let Some(tool) = hosted_tool(&request.tools) {
        return Err(invalid_request(format!(
            "{agent} cannot call the tool {tool}, which only its provider can run: send functions"
        )));
    }
    let count = request.tools.len();
    if count > MAX_TRANSCRIPT_TOOLS {
        return Err(invalid_request(format!(
            "{count} tools are more than the {MAX_TRANSCRIPT_TOOLS} that {agent} can be given in its prompt: send fewer"
        )));
    }
    Ok(())
}

/// Returns `true` if the request asks for reasoning.
pub(crate) fn wants_reasoning(request: &ModelRequest) -> bool {
    let key = match request.origin {
        Some(Dialect::Messages) => "thinking",
        Some(Dialect::Responses) => "reasoning",
        Some(Dialect::Ollama) => "think",
        _ => "reasoning_effort",
    };
    let setting = request.extra.get(key);
    setting.is_some_and(|value| {
        let off = value == false || value.is_null() || value == "none";
        !off && value.get("type").is_none_or(|kind| kind != "disabled")
    })
}

fn invalid_request(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorKind::InvalidRequest, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_wire::Route;

    use super::*;

    fn chat(more: Value) -> ModelRequest {
        let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
        let Value::Object(more) = more else {
            panic!("not an object");
        };
        body.as_object_mut().unwrap().extend(more);
        Route::for_dialect(Dialect::Chat)
            .parse_request(body.to_string().as_bytes())
            .unwrap()
    }

    #[track_caller]
    fn check_rejected(more: Value, expected: &str) {
        let error = validate_request(&chat(more)).unwrap_err();
        assert_eq!((error.kind, error.status), (ErrorKind::InvalidRequest, 400));
        assert!(error.message.contains(expected), "{}", error.message);
    }

    #[test]
    fn p23_no_field_chooses_where_a_key_is_sent() {
        for key in FORBIDDEN_FIELDS {
            check_rejected(json!({ key: "x" }), key);
        }
        check_rejected(json!({ "API-Base": "http://evil" }), "API-Base");
    }

    #[test]
    fn invalid_counts_are_rejected() {
        check_rejected(json!({ "n": 1_000_000 }), "`n` must be 1");
        check_rejected(json!({ "max_tokens": 0 }), "max_tokens");
        check_rejected(json!({ "max_tokens": 1_u64 << 40 }), "max_tokens");
        check_rejected(json!({ "functions": [] }), "`tools`");
        check_rejected(json!({ "logprobs": true }), "log probabilities");
        check_rejected(json!({ "top_logprobs": 3 }), "log probabilities");
        check_rejected(
            json!({ "stream": true, "stream_options": { "include_thoughts": true } }),
            "stream_options.include_thoughts",
        );
        let plain = json!({ "logprobs": false, "stream_options": { "include_usage": true } });
        assert!(validate_request(&chat(plain)).is_ok());
        assert!(validate_request(&chat(json!({ "n": 1, "max_tokens": 5, "user": "u" }))).is_ok());
    }

    #[test]
    fn unsupported_content_is_named_in_the_error() {
        let validate = |more, transcript| validate_text_only(&chat(more), "codex", transcript);
        let tools = json!([{ "type": "function", "function": { "name": "weather" } }]);
        let error = validate(json!({ "tools": tools }), false).unwrap_err();
        assert!(
            error
                .message
                .starts_with("codex is served as text only and cannot call the tool weather"),
            "{}",
            error.message
        );
        let unwanted = json!({ "tools": tools, "tool_choice": "none" });
        assert!(validate(unwanted, false).is_ok());
        let image = json!([{ "role": "user", "content": [
            { "type": "image_url", "image_url": { "url": "https://x/y.png" } },
        ]}]);
        let error = validate(json!({ "messages": image }), false).unwrap_err();
        assert!(error.message.contains("message 1 contains an image"));

        assert!(validate(json!({ "tools": tools }), true).is_ok());
        let many: Vec<Value> = (0..129)
            .map(|number| json!({ "type": "function", "function": { "name": format!("t{number}") } }))
            .collect();
        let error = validate(json!({ "tools": many }), true).unwrap_err();
        assert!(error.message.starts_with("129 tools"), "{}", error.message);
    }

    #[test]
    fn reasoning_is_sent_only_on_request() {
        assert!(!wants_reasoning(&chat(json!({}))));
        assert!(wants_reasoning(&chat(json!({ "reasoning_effort": "low" }))));
        assert!(!wants_reasoning(&chat(
            json!({ "reasoning_effort": "none" })
        )));
    }
}
