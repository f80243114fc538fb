//! Visits the texts of an entry.

use std::borrow::Cow;

use serde_json::{Map, Value};
use windlass_core::{AgentEvent, EventContent, SessionId};

use crate::{Entry, Exchange, Interaction};

/// Calls `change` for every text and every object key of the turn except its ids.
pub(crate) fn for_each_text(turn: &mut Interaction, change: &mut dyn FnMut(&mut String)) {
    for_each_value_in_turn(turn, &mut |value| keys(value, change));
    let mut found = Vec::new();
    interaction(turn, &mut found);
    for (_, text) in found {
        change(text);
    }
}

/// Calls `change` for every JSON value of the entry.
pub(crate) fn for_each_value(entry: &mut Entry, change: &mut dyn FnMut(&mut Value)) {
    match entry {
        Entry::Interaction(turn) => for_each_value_in_turn(turn, change),
        Entry::Exchange(exchange) => change(&mut exchange.body),
    }
}

fn for_each_value_in_turn(turn: &mut Interaction, change: &mut dyn FnMut(&mut Value)) {
    turn.options.output_schema.iter_mut().for_each(&mut *change);
    for timed in &mut turn.events {
        for part in timed.event.parts_mut() {
            if let EventContent::Value(value) = part.content {
                change(value);
            }
        }
    }
}

/// Calls `change` for the keys of all objects in the value.
pub(crate) fn keys(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
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

/// Calls `change` for every string in the value, but not for keys.
pub(crate) fn strings(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| strings(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|field| strings(field, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text, and the name of its stream if it is a chunk of one.
pub(crate) type TextChunk<'a> = (Option<StreamName>, &'a mut String);

/// The name of a stream.
pub(crate) type StreamName = Cow<'static, str>;

/// Returns every text of the entry except its keys and its ids, in order.
pub(crate) fn texts(entry: &mut Entry) -> Vec<TextChunk<'_>> {
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
    for part in event.parts_mut() {
        match part.content {
            EventContent::Id(_) => {}
            EventContent::Text(text) => found.push((part.stream, text)),
            EventContent::Value(value) => collect_strings(value, part.stream, found),
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

/// Calls `change` for every id of the entry, in order.
pub(crate) fn for_each_id(entry: &mut Entry, change: &mut dyn FnMut(&mut String)) {
    let Entry::Interaction(turn) = entry else {
        return;
    };
    let mut session = turn.session.as_str().to_owned();
    change(&mut session);
    turn.session = SessionId::from(session);
    for timed in &mut turn.events {
        for part in timed.event.parts_mut() {
            if let EventContent::Id(id) = part.content {
                change(id);
            }
        }
    }
}
