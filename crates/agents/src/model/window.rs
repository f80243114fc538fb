//! Shortens a request to the context window of the model.

use serde_json::Value;
use windlass_core::cut_middle;
use windlass_wire::{Message, ModelRequest, Part, Role, ToolDefinition};

use super::session::approx_size;

/// The bytes of a token. Code has rather more, so that the estimate is rather too high.
const BYTES_PER_TOKEN: u64 = 3;
/// A request with fewer tokens fits into every window, so that the server need not be asked.
const ALWAYS_FITS: u64 = 3000;
/// What is left of a tool result that was removed.
const REMOVED: &str = "[removed: the conversation is longer than the context window. Call the tool again if you need the result.]";
/// The tools that remain in a small window, most important first.
const CORE_TOOLS: [&str; 6] = [
    "fs_read",
    "fs_write",
    "shell_run",
    "fs_list",
    "fs_edit",
    "search",
];

/// Returns the estimated number of tokens of a request.
pub(super) fn estimate(request: &ModelRequest) -> u64 {
    let messages: usize = request.messages.iter().map(approx_size).sum();
    (overhead(request) + messages as u64) / BYTES_PER_TOKEN
}

/// Returns `true` if the request could be too large for some window.
pub(super) fn may_not_fit(request: &ModelRequest) -> bool {
    estimate(request) > ALWAYS_FITS
}

/// Returns the bytes of the request apart from the conversation.
fn overhead(request: &ModelRequest) -> u64 {
    let instructions = request.instructions.iter().map(|text| text.text.len());
    instructions.sum::<usize>() as u64 + tool_bytes(&request.tools)
}

fn tool_bytes(tools: &[ToolDefinition]) -> u64 {
    let sizes = tools.iter().map(one_tool_bytes);
    sizes.sum()
}

fn one_tool_bytes(tool: &ToolDefinition) -> u64 {
    match tool {
        ToolDefinition::Function(tool) => {
            let description = tool.description.as_ref().map_or(0, String::len);
            (tool.name.len() + description + tool.schema.to_string().len()) as u64
        }
        _ => 0,
    }
}

/// Makes the request fit into this many tokens, including the answer: first with a shorter list of tools, then without
/// the oldest tool results, the oldest calls, and the middle of long texts. The first prompt and the last messages stay.
pub(super) fn fit(request: &mut ModelRequest, window: u64) {
    if estimate(request) + answer_tokens(request, window) <= window {
        return;
    }
    let before = estimate(request);
    shrink_tools(request, window / 4 * BYTES_PER_TOKEN);
    let answer = answer_tokens(request, window);
    if request.max_tokens.is_some_and(|max| max > answer) {
        request.max_tokens = Some(answer);
    }
    let limit = window.saturating_sub(answer) * BYTES_PER_TOKEN;
    let limit = limit.saturating_sub(overhead(request));
    trim_messages(
        &mut request.messages,
        usize::try_from(limit).unwrap_or(usize::MAX),
    );
    let after = estimate(request);
    tracing::info!(
        window,
        before,
        after,
        "the request was shortened to fit the context window"
    );
}

/// Returns the tokens that are reserved for the answer.
fn answer_tokens(request: &ModelRequest, window: u64) -> u64 {
    let most = window / 4;
    request
        .max_tokens
        .map_or(most.min(4096), |max| max.min(most))
}

/// Shortens the descriptions of tools, and drops the less important ones, until the list has this size.
fn shrink_tools(request: &mut ModelRequest, max_bytes: u64) {
    if tool_bytes(&request.tools) <= max_bytes {
        return;
    }
    for tool in &mut request.tools {
        if let ToolDefinition::Function(tool) = tool {
            if let Some(description) = &mut tool.description
                && let Some(end) = description.find(". ")
            {
                description.truncate(end + 1);
            }
            drop_descriptions(&mut tool.schema);
        }
    }
    let rank = |tool: &ToolDefinition| {
        let name = tool.name().unwrap_or_default();
        let known = CORE_TOOLS.iter().position(|core| *core == name);
        known.unwrap_or(CORE_TOOLS.len())
    };
    let mut order: Vec<usize> = (0..request.tools.len()).collect();
    order.sort_by_key(|index| rank(&request.tools[*index]));
    let mut left = max_bytes;
    let mut keep = vec![false; request.tools.len()];
    for (position, index) in order.into_iter().enumerate() {
        let bytes = one_tool_bytes(&request.tools[index]);
        // Without a tool to read and one to write, there is no work.
        keep[index] = bytes <= left || position < 2;
        left = left.saturating_sub(bytes);
    }
    let mut keep = keep.into_iter();
    request.tools.retain(|_| keep.next().unwrap_or(true));
}

/// Removes the descriptions in a schema.
fn drop_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("description").is_some_and(Value::is_string) {
                object.shift_remove("description");
            }
            object.values_mut().for_each(drop_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_descriptions),
        _ => {}
    }
}

/// Makes the conversation fit into this many bytes.
fn trim_messages(messages: &mut Vec<Message>, limit: usize) {
    let total = |messages: &[Message]| messages.iter().map(approx_size).sum::<usize>();
    // The results of the last step are what the model works with.
    let old = messages.len().saturating_sub(2);
    for index in 0..old {
        if total(messages) <= limit {
            return;
        }
        for part in &mut messages[index].parts {
            if let Part::ToolResult(result) = part
                && result.text().len() > REMOVED.len()
            {
                result.parts = vec![Part::text(REMOVED)];
            }
        }
    }
    while total(messages) > limit {
        let last = messages.len().saturating_sub(2);
        let old = messages.get(..last).unwrap_or_default();
        let Some(call) = old.iter().position(has_call) else {
            break;
        };
        // A call and its results go together: servers reject one without the other.
        let has_results = messages
            .get(call + 1)
            .is_some_and(|next| next.role == Role::Tool);
        messages.drain(call..call + 1 + usize::from(has_results));
    }
    while total(messages) > limit {
        let excess = total(messages) - limit;
        let texts = messages.iter_mut().flat_map(|message| &mut message.parts);
        let longest = texts.filter_map(longest_text).max_by_key(|text| text.len());
        let Some(text) = longest.filter(|text| text.len() > 400) else {
            return;
        };
        let keep = text.len().saturating_sub(excess + 64).max(200);
        *text = cut_middle(std::mem::take(text), keep);
    }
}

fn has_call(message: &Message) -> bool {
    let mut parts = message.parts.iter();
    parts.any(|part| matches!(part, Part::ToolCall(_)))
}

fn longest_text(part: &mut Part) -> Option<&mut String> {
    match part {
        Part::Text(text) => Some(&mut text.text),
        Part::ToolResult(result) => result.parts.iter_mut().find_map(|part| match part {
            Part::Text(text) => Some(&mut text.text),
            _ => None,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_wire::{FunctionTool, ToolCall, ToolResult};

    use super::*;

    fn exchange(number: usize, bytes: usize) -> [Message; 2] {
        let id = format!("c{number}");
        let call = ToolCall {
            id: id.clone(),
            name: "fs_read".to_owned(),
            input: format!("{{\"path\":\"{number}\"}}"),
            ..ToolCall::default()
        };
        let result = ToolResult {
            call_id: id,
            parts: vec![Part::text(format!("result {number} {}", "x".repeat(bytes)))],
            ..ToolResult::default()
        };
        [
            Message::new(Role::Assistant, vec![Part::ToolCall(call)]),
            Message::new(Role::Tool, vec![Part::ToolResult(result)]),
        ]
    }

    fn request(exchanges: usize, bytes: usize) -> ModelRequest {
        let mut request = ModelRequest::new("m");
        request.messages = vec![Message::new(Role::User, vec![Part::text("the task")])];
        for number in 0..exchanges {
            request.messages.extend(exchange(number, bytes));
        }
        request
    }

    fn text(request: &ModelRequest) -> String {
        format!("{:?}", request.messages)
    }

    #[test]
    fn request_that_fits_stays_as_it_is() {
        let mut small = request(2, 100);
        let before = small.clone();
        fit(&mut small, 4096);
        assert_eq!(small, before);
        assert!(!may_not_fit(&small));
    }

    #[test]
    fn oldest_results_go_first_and_the_task_and_the_last_result_stay() {
        let mut long = request(10, 3000);
        fit(&mut long, 8192);
        assert!(estimate(&long) + 2048 <= 8192, "{}", estimate(&long));
        let text = text(&long);
        assert!(text.contains("the task") && text.contains("result 9 xxx"));
        assert!(!text.contains("result 0 ") && text.contains("[removed:"));
        let calls = long.messages.iter().filter(|one| has_call(one)).count();
        assert_eq!(calls, 10, "removing results was enough");
    }

    #[test]
    fn every_size_fits_and_calls_keep_their_results() {
        for (exchanges, bytes) in [(200, 400), (1, 100_000), (3, 50_000), (500, 10)] {
            let mut long = request(exchanges, bytes);
            fit(&mut long, 4096);
            assert!(
                estimate(&long) <= 4096,
                "{exchanges} {bytes}: {}",
                estimate(&long)
            );
            assert!(text(&long).contains("the task"));
            for pair in long.messages.windows(2) {
                if has_call(&pair[0]) {
                    assert_eq!(pair[1].role, Role::Tool);
                }
            }
        }
    }

    #[test]
    fn small_window_gets_a_short_list_of_tools() {
        let mut request = request(0, 0);
        for name in ["mcp__a", "fs_edit", "fs_read", "fs_write", "mcp__b"] {
            let mut tool = FunctionTool::new(name);
            tool.description = Some(format!("Does it. {}", "And more. ".repeat(100)));
            tool.schema = json!({ "type": "object", "properties": {
                "path": { "type": "string", "description": "long ".repeat(100) },
                "description": { "type": "string" },
            } });
            request.tools.push(ToolDefinition::Function(tool));
        }
        let names = |request: &ModelRequest| -> Vec<String> {
            let names = request.tools.iter().filter_map(|tool| tool.name());
            names.map(str::to_owned).collect()
        };
        let mut middle = request.clone();
        fit(&mut middle, 2048);
        assert_eq!(names(&middle).len(), 5, "shorter descriptions are enough");
        let ToolDefinition::Function(tool) = &middle.tools[0] else {
            panic!("{:?}", middle.tools)
        };
        assert_eq!(tool.description.as_deref(), Some("Does it."));
        assert!(tool.schema.pointer("/properties/description").is_some());
        fit(&mut request, 512);
        assert_eq!(names(&request), ["fs_edit", "fs_read", "fs_write"]);
    }
}
