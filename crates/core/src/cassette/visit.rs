//! Visits the texts of an entry.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Entry, Exchange, Interaction};
use crate::{AgentEvent, SessionId};

/// Calls `change` for every text and every object key of the turn except its ids.
pub(super) fn for_each_text(turn: &mut Interaction, change: &mut dyn FnMut(&mut String)) {
    for_each_value_in_turn(turn, &mut |value| keys(value, change));
    let mut found = Vec::new();
    interaction(turn, &mut found);
    for (_, text) in found {
        change(text);
    }
}

/// Calls `change` for every JSON value of the entry.
pub(super) fn for_each_value(entry: &mut Entry, change: &mut dyn FnMut(&mut Value)) {
    match entry {
        Entry::Interaction(turn) => for_each_value_in_turn(turn, change),
        Entry::Exchange(exchange) => change(&mut exchange.body),
    }
}

fn for_each_value_in_turn(turn: &mut Interaction, change: &mut dyn FnMut(&mut Value)) {
    turn.options.output_schema.iter_mut().for_each(&mut *change);
    for timed in &mut turn.events {
        values(&mut timed.event).into_iter().for_each(&mut *change);
    }
}

/// Calls `change` for the keys of all objects in the value.
pub(super) fn keys(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| keys(item, change)),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            *fields = old
                .into_iter()
                .map(|(mut key, mut value)| {
                    change(&mut key);
                    keys(&mut value, change);
                    (key, value)
                })
                .collect::<Map<_, _>>();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A text, and the name of its stream if it is a chunk of one.
pub(super) type TextChunk<'a> = (Option<StreamName>, &'a mut String);

/// The name of a stream.
pub(super) type StreamName = Cow<'static, str>;

/// Returns every text of the entry except its keys and its ids, in order.
pub(super) fn texts(entry: &mut Entry) -> Vec<TextChunk<'_>> {
    let mut found = Vec::new();
    match entry {
        Entry::Interaction(turn) => interaction(turn, &mut found),
        Entry::Exchange(call) => exchange(call, &mut found),
    }
    found
}

fn interaction<'a>(turn: &'a mut Interaction, found: &mut Vec<TextChunk<'a>>) {
    let options = &mut turn.options;
    let single = [&mut options.cwd, &mut options.model].into_iter().flatten();
    found.extend(single.map(|text| (None, text)));
    found.extend(options.mcp_servers.iter_mut().map(|text| (None, text)));
    if let Some(schema) = &mut options.output_schema {
        collect_strings(schema, None, found);
    }
    found.push((None, &mut turn.prompt));
    for timed in &mut turn.events {
        event(&mut timed.event, found);
    }
}

fn exchange<'a>(call: &'a mut Exchange, found: &mut Vec<TextChunk<'a>>) {
    found.push((None, &mut call.path));
    collect_strings(&mut call.body, None, found);
    found.extend(call.headers.values_mut().map(|text| (None, text)));
    let stream = Some(StreamName::from("chunks"));
    let chunks = call.chunks.iter_mut();
    found.extend(chunks.map(|chunk| (stream.clone(), &mut chunk.text)));
}

fn event<'a>(event: &'a mut AgentEvent, found: &mut Vec<TextChunk<'a>>) {
    match event {
        AgentEvent::Text(text) => found.push((Some("text".into()), text)),
        AgentEvent::Thought(text) => found.push((Some("thought".into()), text)),
        AgentEvent::Plan { entries } => {
            found.extend(entries.iter_mut().map(|entry| (None, &mut entry.step)));
        }
        AgentEvent::ToolStart { name, input, .. } => {
            found.push((None, name));
            collect_strings(input, None, found);
        }
        AgentEvent::ToolProgress { id, update } => {
            collect_strings(update, Some(format!("progress {id}").into()), found);
        }
        AgentEvent::ToolEnd { name, output, .. } => {
            found.push((None, name));
            collect_strings(output, None, found);
        }
        AgentEvent::PermissionRequest {
            tool,
            input,
            options,
            ..
        } => {
            found.push((None, tool));
            collect_strings(input, None, found);
            let options = options.iter_mut();
            found.extend(options.flat_map(|o| [(None, &mut o.id), (None, &mut o.label)]));
        }
        AgentEvent::Result {
            text,
            usage,
            metadata,
        } => {
            found.push((None, text));
            if let Some(extra) = usage.as_mut().and_then(|usage| usage.extra.as_mut()) {
                collect_strings(extra, None, found);
            }
            collect_strings(metadata, None, found);
        }
        AgentEvent::Error { message: text, .. } | AgentEvent::SessionInvalid { reason: text } => {
            found.push((None, text));
        }
        AgentEvent::SessionChanged { .. } => {}
        AgentEvent::Custom { kind, payload } => {
            let stream = Some(StreamName::from(format!("custom {kind}")));
            found.push((None, kind));
            collect_strings(payload, stream, found);
        }
    }
}

/// Collects the strings in a value. In a stream, strings at the same path of two values are chunks of one
/// text.
fn collect_strings<'a>(
    value: &'a mut Value,
    stream: Option<StreamName>,
    found: &mut Vec<TextChunk<'a>>,
) {
    let child = |part: &str| {
        stream
            .as_ref()
            .map(|stream| StreamName::from(format!("{stream}/{part}")))
    };
    match value {
        Value::String(text) => found.push((stream, text)),
        Value::Array(items) => {
            for (number, item) in items.iter_mut().enumerate() {
                collect_strings(item, child(&number.to_string()), found);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                collect_strings(field, child(key), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn values(event: &mut AgentEvent) -> Vec<&mut Value> {
    match event {
        AgentEvent::ToolStart { input: value, .. }
        | AgentEvent::ToolProgress { update: value, .. }
        | AgentEvent::ToolEnd { output: value, .. }
        | AgentEvent::PermissionRequest { input: value, .. }
        | AgentEvent::Custom { payload: value, .. } => vec![value],
        AgentEvent::Result {
            usage, metadata, ..
        } => {
            let extra = usage.as_mut().and_then(|usage| usage.extra.as_mut());
            extra.into_iter().chain([metadata]).collect()
        }
        _ => Vec::new(),
    }
}

/// Calls `change` for every id of the entry, in order.
pub(super) fn for_each_id(entry: &mut Entry, change: &mut dyn FnMut(&mut String)) {
    let Entry::Interaction(turn) = entry else {
        return;
    };
    let mut session = turn.session.as_str().to_owned();
    change(&mut session);
    turn.session = SessionId::from(session);
    for timed in &mut turn.events {
        match &mut timed.event {
            AgentEvent::ToolStart { id, .. }
            | AgentEvent::ToolProgress { id, .. }
            | AgentEvent::ToolEnd { id, .. }
            | AgentEvent::PermissionRequest { id, .. }
            | AgentEvent::SessionChanged { new_session_id: id } => change(id),
            _ => {}
        }
    }
}
