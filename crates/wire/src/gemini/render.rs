//! Gemini: the JSON of a request.

use serde_json::{Value, json};

use crate::json::Object;
use crate::{
    Image, ImageSource, Message, ModelRequest, OutputFormat, Part, Role, Text, Tool, ToolCall,
    ToolChoice, ToolResult,
};

/// Where a client sends a request; streams are asked for as server-sent events.
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
    Object::new()
        .nest("systemInstruction", Object::new().list("parts", texts))
        .set("contents", contents(&request.messages))
        .list("tools", tools(&request.tools))
        .maybe("toolConfig", request.tool_choice.as_ref().map(tool_choice))
        .nest("generationConfig", generation(request))
        .extra(&request.extra)
        .value()
}

/// The contents; what the user says right after results goes into the same content.
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
    Object::new()
        .set("role", role)
        .set("parts", parts)
        .extra(&message.extra)
        .value()
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(words) => text(words),
        Part::Image(image) => picture(image),
        Part::Reasoning(reasoning) => Object::new()
            .set("text", reasoning.text.as_str())
            .set("thought", true)
            .maybe("thoughtSignature", reasoning.signature.as_deref())
            .extra(&reasoning.extra)
            .value(),
        Part::ToolCall(made) => call(made),
        Part::ToolResult(found) => result(found),
        Part::Opaque(opaque) => opaque.value.clone(),
    }
}

fn text(text: &Text) -> Value {
    Object::new()
        .set("text", text.text.as_str())
        .extra(&text.extra)
        .value()
}

fn picture(image: &Image) -> Value {
    let object = match &image.source {
        // Its type, which the API wants, is in the extra fields by now.
        ImageSource::Url { url } => Object::new().set("fileData", json!({ "fileUri": url })),
        ImageSource::Inline { media_type, data } => Object::new().set(
            "inlineData",
            json!({ "mimeType": media_type, "data": data }),
        ),
    };
    object.extra(&image.extra).value()
}

fn call(call: &ToolCall) -> Value {
    let inner = json!({ "id": call.id, "name": call.name, "args": call.input_object() });
    Object::new()
        .set("functionCall", inner)
        .maybe("thoughtSignature", call.signature.as_deref())
        .extra(&call.extra)
        .value()
}

fn result(result: &ToolResult) -> Value {
    let pictures = result
        .parts
        .iter()
        .filter(|part| !matches!(part, Part::Text(_)));
    let inner = Object::new()
        .set("id", result.call_id.as_str())
        .set("name", result.name.as_str())
        .set("response", response(result))
        .list("parts", pictures.map(part).collect());
    Object::new()
        .set("functionResponse", inner)
        .extra(&result.extra)
        .value()
}

/// What a function said, which must be an object: its own if it said one, else a text under an agreed name.
fn response(result: &ToolResult) -> Value {
    let text = result.text();
    if result.is_error {
        return json!({ "error": text });
    }
    let own: Value = serde_json::from_str(&text).unwrap_or_default();
    let compact = own.to_string();
    if compact == text && own.is_object() && !is_wrapped(&own) {
        return own;
    }
    json!({ "output": text })
}

/// Whether an object would be taken for a wrapped text, or for nothing.
fn is_wrapped(own: &Value) -> bool {
    let is_text = |key: &str| own.get(key).is_some_and(Value::is_string);
    let size = own.as_object().map_or(0, serde_json::Map::len);
    size == 0 || (size == 1 && (is_text("output") || is_text("error")))
}

fn tools(tools: &[Tool]) -> Vec<Value> {
    let mut functions = Vec::new();
    let mut hosted = Vec::new();
    for tool in tools {
        match tool {
            Tool::Function(tool) => functions.push(
                Object::new()
                    .set("name", tool.name.as_str())
                    .maybe("description", tool.description.as_deref())
                    .set("parametersJsonSchema", tool.schema.clone())
                    .extra(&tool.extra)
                    .value(),
            ),
            Tool::Hosted(opaque) => hosted.push(opaque.value.clone()),
            Tool::Freeform(_) => {}
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

fn generation(request: &ModelRequest) -> Object {
    let sampling = &request.sampling;
    let (media_type, schema) = match &request.output {
        OutputFormat::Text => (None, None),
        OutputFormat::Json => (Some("application/json"), None),
        OutputFormat::JsonSchema(schema) => (Some("application/json"), Some(&schema.schema)),
    };
    Object::new()
        .maybe("temperature", sampling.temperature)
        .maybe("topP", sampling.top_p)
        .maybe("topK", sampling.top_k)
        .maybe("seed", sampling.seed)
        .list("stopSequences", sampling.stop.clone())
        .maybe("presencePenalty", sampling.presence_penalty)
        .maybe("frequencyPenalty", sampling.frequency_penalty)
        .maybe("maxOutputTokens", request.max_tokens)
        .maybe("responseMimeType", media_type)
        .maybe("responseJsonSchema", schema.cloned())
}
