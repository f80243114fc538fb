//! Responses: the output items of an answer, told piece by piece.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::frame::FrameWriter;
use crate::json::ObjectBuilder;
use crate::{ToolCall, ToolInputKind};

/// The items of one streamed answer: those done, and those still open.
#[derive(Debug, Default)]
pub(super) struct OutputItems {
    response: String,
    sequence: u64,
    /// How many items have begun.
    begun: usize,
    done: BTreeMap<usize, Value>,
    /// The item of words or thoughts that is open.
    open: Option<OpenItem>,
    /// The open calls, each with its place among the items.
    calls: Vec<(usize, usize, ToolCall)>,
}

#[derive(Debug)]
struct OpenItem {
    is_text: bool,
    place: usize,
    id: String,
    text: String,
}

impl OutputItems {
    pub(super) fn id(&self) -> &str {
        &self.response
    }

    pub(super) fn set_id(&mut self, id: &str) {
        id.clone_into(&mut self.response);
    }

    /// The items that are done, in order.
    pub(super) fn items(&self) -> Vec<Value> {
        self.done.values().cloned().collect()
    }

    /// Sends an event under its name and number.
    pub(super) fn send(&mut self, name: &str, mut data: Value, out: &mut FrameWriter) {
        data["type"] = name.into();
        data["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        out.send_named(name, &data);
    }

    pub(super) fn text(&mut self, delta: &str, out: &mut FrameWriter) {
        let (place, id) = self.ensure(true, delta, out);
        let data = json!({
            "item_id": id, "output_index": place, "content_index": 0, "delta": delta, "logprobs": [],
        });
        self.send("response.output_text.delta", data, out);
    }

    pub(super) fn push_reasoning(&mut self, delta: &str, out: &mut FrameWriter) {
        let (place, id) = self.ensure(false, delta, out);
        let data =
            json!({ "item_id": id, "output_index": place, "summary_index": 0, "delta": delta });
        self.send("response.reasoning_summary_text.delta", data, out);
    }

    pub(super) fn end_reasoning(&mut self, signature: Option<&str>, out: &mut FrameWriter) {
        let thinking = self.open.as_ref().is_some_and(|open| !open.is_text);
        if signature.is_some() && !thinking {
            self.ensure(false, "", out);
        }
        if signature.is_some() || thinking {
            self.close(signature, out);
        }
    }

    pub(super) fn opaque(&mut self, item: &Value, out: &mut FrameWriter) {
        self.close(None, out);
        let place = self.open_item(item, out);
        self.finish(place, item.clone(), out);
    }

    /// Makes sure that an item of words or of thoughts is open, adds to it, and gives its place and id.
    fn ensure(&mut self, is_text: bool, delta: &str, out: &mut FrameWriter) -> (usize, String) {
        if let Some(open) = self.open.as_mut().filter(|open| open.is_text == is_text) {
            open.text.push_str(delta);
            return (open.place, open.id.clone());
        }
        self.close(None, out);
        let place = self.begun;
        let id = item_id(&self.response, if is_text { "msg" } else { "rs" }, place);
        let (item, name, part) = if is_text {
            let item = json!({
                "type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": [],
            });
            let part = json!({ "content_index": 0, "part": output_text("") });
            (item, "response.content_part.added", part)
        } else {
            let item = json!({ "type": "reasoning", "id": id, "summary": [] });
            let part = json!({ "summary_index": 0, "part": summary_text("") });
            (item, "response.reasoning_summary_part.added", part)
        };
        self.open_item(&item, out);
        self.send_of(name, place, &id, part, out);
        self.open = Some(OpenItem {
            is_text,
            place,
            id: id.clone(),
            text: delta.to_owned(),
        });
        (place, id)
    }

    /// Ends the open item of words or thoughts.
    fn close(&mut self, signature: Option<&str>, out: &mut FrameWriter) {
        let Some(OpenItem {
            is_text,
            place,
            id,
            text,
        }) = self.open.take()
        else {
            return;
        };
        let item = if is_text {
            let data = json!({ "content_index": 0, "text": text, "logprobs": [] });
            self.send_of("response.output_text.done", place, &id, data, out);
            let data = json!({ "content_index": 0, "part": output_text(&text) });
            self.send_of("response.content_part.done", place, &id, data, out);
            message_item(&id, &text)
        } else {
            let data = json!({ "summary_index": 0, "text": text });
            self.send_of(
                "response.reasoning_summary_text.done",
                place,
                &id,
                data,
                out,
            );
            let data = json!({ "summary_index": 0, "part": summary_text(&text) });
            self.send_of(
                "response.reasoning_summary_part.done",
                place,
                &id,
                data,
                out,
            );
            reasoning_item(&id, &text, signature)
        };
        self.finish(place, item, out);
    }

    pub(super) fn call(
        &mut self,
        index: usize,
        id: &str,
        name: &str,
        kind: ToolInputKind,
        out: &mut FrameWriter,
    ) {
        self.close(None, out);
        let call = ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            kind,
            ..ToolCall::default()
        };
        let item_id = item_id(&self.response, call_prefix(kind), self.begun);
        let place = self.open_item(&call_item(&item_id, &call, "in_progress"), out);
        self.calls.push((index, place, call));
    }

    pub(super) fn call_input(&mut self, index: usize, delta: &str, out: &mut FrameWriter) {
        let found = self.calls.iter_mut().find(|(call, ..)| *call == index);
        let Some((_, place, call)) = found else {
            return;
        };
        call.input.push_str(delta);
        let (place, kind) = (*place, call.kind);
        let id = item_id(&self.response, call_prefix(kind), place);
        let name = match kind {
            ToolInputKind::Function => "response.function_call_arguments.delta",
            ToolInputKind::Freeform => "response.custom_tool_call_input.delta",
        };
        self.send_of(name, place, &id, json!({ "delta": delta }), out);
    }

    pub(super) fn call_end(&mut self, index: usize, out: &mut FrameWriter) {
        let Some(at) = self.calls.iter().position(|(call, ..)| *call == index) else {
            return;
        };
        let (_, place, call) = self.calls.remove(at);
        let id = item_id(&self.response, call_prefix(call.kind), place);
        let (name, key) = match call.kind {
            ToolInputKind::Function => ("response.function_call_arguments.done", "arguments"),
            ToolInputKind::Freeform => ("response.custom_tool_call_input.done", "input"),
        };
        self.send_of(name, place, &id, json!({ key: call.input }), out);
        self.finish(place, call_item(&id, &call, "completed"), out);
    }

    pub(super) fn close_all(&mut self, out: &mut FrameWriter) {
        self.close(None, out);
        while let Some((index, ..)) = self.calls.first() {
            self.call_end(*index, out);
        }
    }

    fn open_item(&mut self, item: &Value, out: &mut FrameWriter) -> usize {
        let place = self.begun;
        self.begun += 1;
        let data = json!({ "output_index": place, "item": item });
        self.send("response.output_item.added", data, out);
        place
    }

    fn finish(&mut self, place: usize, item: Value, out: &mut FrameWriter) {
        let data = json!({ "output_index": place, "item": item });
        self.send("response.output_item.done", data, out);
        self.done.insert(place, item);
    }

    /// Sends an event about one item.
    fn send_of(
        &mut self,
        name: &str,
        place: usize,
        id: &str,
        mut data: Value,
        out: &mut FrameWriter,
    ) {
        data["item_id"] = id.into();
        data["output_index"] = place.into();
        self.send(name, data, out);
    }
}

/// An id for an item, made from the response's and the item's place.
pub(super) fn item_id(response: &str, prefix: &str, place: usize) -> String {
    let response = response.strip_prefix("resp_").unwrap_or(response);
    format!("{prefix}_{response}_{place}")
}

pub(super) fn call_prefix(kind: ToolInputKind) -> &'static str {
    match kind {
        ToolInputKind::Function => "fc",
        ToolInputKind::Freeform => "ctc",
    }
}

pub(super) fn message_item(id: &str, text: &str) -> Value {
    json!({
        "type": "message",
        "id": id,
        "role": "assistant",
        "status": "completed",
        "content": [output_text(text)],
    })
}

pub(super) fn reasoning_item(id: &str, text: &str, signature: Option<&str>) -> Value {
    let summary = if text.is_empty() {
        json!([])
    } else {
        json!([summary_text(text)])
    };
    ObjectBuilder::new()
        .set("type", "reasoning")
        .set("id", id)
        .set("summary", summary)
        .set_opt("encrypted_content", signature)
        .build()
}

pub(super) fn call_item(id: &str, call: &ToolCall, status: &str) -> Value {
    let (kind, input) = match call.kind {
        ToolInputKind::Function => ("function_call", "arguments"),
        ToolInputKind::Freeform => ("custom_tool_call", "input"),
    };
    json!({
        "type": kind,
        "id": id,
        "call_id": call.id,
        "name": call.name,
        input: call.input,
        "status": status,
    })
}

fn output_text(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

fn summary_text(text: &str) -> Value {
    json!({ "type": "summary_text", "text": text })
}
