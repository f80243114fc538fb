//! What Gemini can carry.

use crate::calls::name_calls;
use crate::carry;
use crate::{Dialect, ImageSource, ModelRequest, ModelResponse, Part, Role, Tool, ToolResult};

pub(crate) fn request(request: &mut ModelRequest) {
    carry::drop_foreign_reasoning(request, Dialect::Gemini);
    carry::common(request, Dialect::Gemini);
    carry::instructions_out_of_messages(request);
    carry::functions_only(request);
    for message in &mut request.messages {
        if matches!(message.role, Role::System | Role::Developer) {
            message.role = Role::User;
        }
        message.parts.iter_mut().for_each(part);
    }
    carry::each_result(request, one_text);
    carry::each_function(request, |tool| tool.strict = None);
    // Functions share one entry, which comes first.
    request
        .tools
        .sort_by_key(|tool| matches!(tool, Tool::Hosted(_)));
    request.parallel_tools = None;
    carry::bare_schema(request);
    name_calls(&mut request.messages);
    carry::link_results(&mut request.messages);
}

fn part(part: &mut Part) {
    match part {
        Part::Reasoning(reasoning) => reasoning.redacted = false,
        Part::Image(image) => typed(image),
        _ => {}
    }
}

/// A picture by its address goes out with a type, which then comes back with it.
fn typed(image: &mut crate::Image) {
    if let ImageSource::Url { .. } = image.source {
        let file = image.extra.entry("fileData");
        file.or_insert_with(|| serde_json::json!({ "mimeType": "image/png" }));
    }
}

/// A result has one text, with the pictures after it.
fn one_text(result: &mut ToolResult) {
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
    carry::common_response(response, Dialect::Gemini);
    carry::functions_only_response(response);
    for found in &mut response.parts {
        part(found);
    }
    carry::join_unsigned_thoughts(response);
    carry::implied_stop(response);
    if let Some(usage) = &mut response.usage {
        usage.cache_write_tokens = 0;
    }
}
