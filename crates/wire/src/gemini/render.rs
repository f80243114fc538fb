//! Gemini: rendering of requests.

use serde_json::{Value, json};

use crate::json::ObjectBuilder;
use crate::{
    Image, ImageSource, Message, ModelRequest, OutputFormat, Part, Role, Text, ToolCall,
    ToolChoice, ToolDefinition, ToolResult,
};

/// Returns the path of a request. Streams are requested as server-sent events.
pub(crate) fn path(request: &ModelRequest) -> String {
    let method = if request.stream {
        "streamGenerateContent?alt=sse"
    } else {
        "generateContent"
    };
    format!("/v1beta/models/{}:{method}", request.model)
}

pub(crate) fn request(request: &ModelRequest) -> Value {
    let texts: Vec<Value> = request.instructions.iter().map(text).collect();
    ObjectBuilder::new()
        .set_object(
            "systemInstruction",
            ObjectBuilder::new().set_list("parts", texts),
        )
        .set("contents", contents(&request.messages))
        .set_list("tools", tools(&request.tools))
        .set_opt("toolConfig", request.tool_choice.as_ref().map(tool_choice))
        .set_object("generationConfig", generation(request))
        .extra(&request.extra)
        .build()
}

/// Renders the contents. A user message directly after results is merged into the same content.
fn contents(messages: &[Message]) -> Vec<Value> {
    let mut list: Vec<Value> = Vec::with_capacity(messages.len());
    let mut after_results = false;
    for message in messages {
        let joins = after_results && message.role == Role::User && message.extra.is_empty();
        after_results = message.role == Role::Tool;
        let last = list.last_mut().and_then(|last| last.get_mut("parts"));
        match last.and_then(Value::as_array_mut) {
            Some(parts) if joins => parts.extend(message.parts.iter().map(part)),
            _ => list.push(content(message)),
        }
    }
    list
}

fn content(message: &Message) -> Value {
    let role = match message.role {
        Role::Assistant => "model",
        _ => "user",
    };
    let parts: Vec<Value> = message.parts.iter().map(part).collect();
    ObjectBuilder::new()
        .set("role", role)
        .set("parts", parts)
        .extra(&message.extra)
        .build()
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(part) => text(part),
        Part::Image(image) => image_json(image),
        Part::Reasoning(reasoning) => ObjectBuilder::new()
            .set("text", reasoning.text.as_str())
            .set("thought", true)
            .set_opt("thoughtSignature", reasoning.signature.as_deref())
            .extra(&reasoning.extra)
            .build(),
        Part::ToolCall(part) => call(part),
        Part::ToolResult(part) => result(part),
        Part::Opaque(opaque) => opaque.value.clone(),
    }
}

fn text(text: &Text) -> Value {
    ObjectBuilder::new()
        .set("text", text.text.as_str())
        .extra(&text.extra)
        .build()
}

fn image_json(image: &Image) -> Value {
    let object = match &image.source {
        // The type, which the API requires, was added to the extra fields.
        ImageSource::Url { url } => ObjectBuilder::new().set("fileData", json!({ "fileUri": url })),
        ImageSource::Inline { media_type, data } => ObjectBuilder::new().set(
            "inlineData",
            json!({ "mimeType": media_type, "data": data }),
        ),
    };
    object.extra(&image.extra).build()
}

fn call(call: &ToolCall) -> Value {
    let inner = json!({ "id": call.id, "name": call.name, "args": call.input_object() });
    ObjectBuilder::new()
        .set("functionCall", inner)
        .set_opt("thoughtSignature", call.signature.as_deref())
        .extra(&call.extra)
        .build()
}

fn result(result: &ToolResult) -> Value {
    let images = result
        .parts
        .iter()
        .filter(|part| !matches!(part, Part::Text(_)));
    let inner = ObjectBuilder::new()
        .set("id", result.call_id.as_str())
        .set("name", result.name.as_str())
        .set("response", response(result))
        .set_list("parts", images.map(part).collect());
    ObjectBuilder::new()
        .set("functionResponse", inner)
        .extra(&result.extra)
        .build()
}

/// Renders a function's output, which must be an object: the output itself if it is one, otherwise a text
/// under a conventional name.
fn response(result: &ToolResult) -> Value {
    let text = result.text();
    if result.is_error {
        return json!({ "error": text });
    }
    let parsed: Value = serde_json::from_str(&text).unwrap_or_default();
    let compact = parsed.to_string();
    if compact == text && parsed.is_object() && !is_wrapped(&parsed) {
        return parsed;
    }
    json!({ "output": text })
}

/// Returns `true` if an object would be parsed as a wrapped text, or as empty.
fn is_wrapped(object: &Value) -> bool {
    let is_text = |key: &str| object.get(key).is_some_and(Value::is_string);
    let size = object.as_object().map_or(0, serde_json::Map::len);
    size == 0 || (size == 1 && (is_text("output") || is_text("error")))
}

fn tools(tools: &[ToolDefinition]) -> Vec<Value> {
    let mut functions = Vec::new();
    let mut hosted = Vec::new();
    for tool in tools {
        match tool {
            ToolDefinition::Function(tool) => functions.push(
                ObjectBuilder::new()
                    .set("name", tool.name.as_str())
                    .set_opt("description", tool.description.as_deref())
                    .set("parametersJsonSchema", tool.schema.clone())
                    .extra(&tool.extra)
                    .build(),
            ),
            ToolDefinition::Hosted(opaque) => hosted.push(opaque.value.clone()),
            ToolDefinition::Freeform(_) => {}
        }
    }
    let mut list = Vec::new();
    if !functions.is_empty() {
        list.push(json!({ "functionDeclarations": functions }));
    }
    list.append(&mut hosted);
    list
}

fn tool_choice(choice: &ToolChoice) -> Value {
    let config = match choice {
        ToolChoice::Auto => json!({ "mode": "AUTO" }),
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Named { name } => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
    };
    json!({ "functionCallingConfig": config })
}

fn generation(request: &ModelRequest) -> ObjectBuilder {
    let sampling = &request.sampling;
    let (media_type, schema) = match &request.output {
        OutputFormat::Text => (None, None),
        OutputFormat::Json => (Some("application/json"), None),
        OutputFormat::JsonSchema(schema) => (Some("application/json"), Some(&schema.schema)),
    };
    ObjectBuilder::new()
        .set_opt("temperature", sampling.temperature)
        .set_opt("topP", sampling.top_p)
        .set_opt("topK", sampling.top_k)
        .set_opt("seed", sampling.seed)
        .set_list("stopSequences", sampling.stop.clone())
        .set_opt("presencePenalty", sampling.presence_penalty)
        .set_opt("frequencyPenalty", sampling.frequency_penalty)
        .set_opt("maxOutputTokens", request.max_tokens)
        .set_opt("responseMimeType", media_type)
        .set_opt("responseJsonSchema", schema.cloned())
}
