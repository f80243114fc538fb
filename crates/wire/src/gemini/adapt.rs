//! Adaptation to what Gemini supports.

use crate::adapt;
use crate::tool_calls::assign_call_ids;
use crate::{
    Dialect, ImageSource, ModelRequest, ModelResponse, Part, Role, ToolDefinition, ToolResult,
};

pub(crate) fn request(request: &mut ModelRequest) {
    adapt::drop_foreign_reasoning(request, Dialect::Gemini);
    adapt::adapt_common(request, Dialect::Gemini);
    adapt::extract_instructions(request);
    adapt::functions_only(request);
    for message in &mut request.messages {
        if matches!(message.role, Role::System | Role::Developer) {
            message.role = Role::User;
        }
        message.parts.iter_mut().for_each(part);
    }
    adapt::for_each_result(request, join_result_text);
    adapt::for_each_function(request, |tool| tool.strict = None);
    // Functions share one entry, which is the first.
    request
        .tools
        .sort_by_key(|tool| matches!(tool, ToolDefinition::Hosted(_)));
    request.parallel_tools = None;
    adapt::schema_only(request);
    assign_call_ids(&mut request.messages);
    adapt::link_results(&mut request.messages);
}

fn part(part: &mut Part) {
    match part {
        Part::Reasoning(reasoning) => reasoning.redacted = false,
        Part::Image(image) => add_media_type(image),
        _ => {}
    }
}

/// Adds a type to an image given by URL, as Gemini requires one. The type is returned when the request is
/// parsed.
fn add_media_type(image: &mut crate::Image) {
    if let ImageSource::Url { .. } = image.source {
        let file = image.extra.entry("fileData");
        file.or_insert_with(|| serde_json::json!({ "mimeType": "image/png" }));
    }
}

/// Joins the texts of a result into one, followed by the images.
fn join_result_text(result: &mut ToolResult) {
    let text = result.text();
    result
        .parts
        .retain(|part| matches!(part, Part::Image(_) | Part::Opaque(_)));
    result.parts.iter_mut().for_each(part);
    if !text.is_empty() {
        result.parts.insert(0, Part::text(text));
    }
}

pub(crate) fn response(response: &mut ModelResponse) {
    adapt::adapt_common_response(response, Dialect::Gemini);
    adapt::functions_only_response(response);
    for found in &mut response.parts {
        part(found);
    }
    adapt::join_unsigned_reasoning(response);
    adapt::set_implied_stop(response);
    if let Some(usage) = &mut response.usage {
        usage.cache_write_tokens = 0;
    }
}
