//! Responses: the output items of a streamed response.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::frame::FrameWriter;
use crate::json::ObjectBuilder;
use crate::{ToolCall, ToolInputKind};

/// The items of one streamed response: finished and open ones.
#[derive(Debug, Default)]
pub(super) struct OutputItems {
    response: String,
    sequence: u64,
    /// The number of started items.
    started: usize,
    done: BTreeMap<usize, Value>,
    /// The open item of text or reasoning.
    open: Option<OpenItem>,
    /// The open calls, each with its call index and output index.
    calls: Vec<(usize, usize, ToolCall)>,
}

#[derive(Debug)]
struct OpenItem {
    is_text: bool,
    output_index: usize,
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

    /// Returns the finished items, in order.
    pub(super) fn items(&self) -> Vec<Value> {
        self.done.values().cloned().collect()
    }

    /// Sends an event with its name and sequence number.
    pub(super) fn send(&mut self, name: &str, mut data: Value, out: &mut FrameWriter) {
        data["type"] = name.into();
        data["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        out.send_named(name, &data);
    }

    pub(super) fn text(&mut self, delta: &str, out: &mut FrameWriter) {
        let (output_index, id) = self.ensure(true, delta, out);
        let data = json!({
            "item_id": id, "output_index": output_index, "content_index": 0, "delta": delta, "logprobs": [],
        });
        self.send("response.output_text.delta", data, out);
    }

    pub(super) fn push_reasoning(&mut self, delta: &str, out: &mut FrameWriter) {
        let (output_index, id) = self.ensure(false, delta, out);
        let data = json!({ "item_id": id, "output_index": output_index, "summary_index": 0, "delta": delta });
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
        let output_index = self.open_item(item, out);
        self.finish(output_index, item.clone(), out);
    }

    /// Ensures that an item of text or reasoning is open, appends to it, and returns its output index and id.
    fn ensure(&mut self, is_text: bool, delta: &str, out: &mut FrameWriter) -> (usize, String) {
        if let Some(open) = self.open.as_mut().filter(|open| open.is_text == is_text) {
            open.text.push_str(delta);
            return (open.output_index, open.id.clone());
        }
        self.close(None, out);
        let output_index = self.started;
        let id = item_id(
            &self.response,
            if is_text { "msg" } else { "rs" },
            output_index,
        );
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
        self.send_for_item(name, output_index, &id, part, out);
        self.open = Some(OpenItem {
            is_text,
            output_index,
            id: id.clone(),
            text: delta.to_owned(),
        });
        (output_index, id)
    }

    /// Ends the open item of text or reasoning.
    fn close(&mut self, signature: Option<&str>, out: &mut FrameWriter) {
        let Some(OpenItem {
            is_text,
            output_index,
            id,
            text,
        }) = self.open.take()
        else {
            return;
        };
        let item = if is_text {
            let data = json!({ "content_index": 0, "text": text, "logprobs": [] });
            self.send_for_item("response.output_text.done", output_index, &id, data, out);
            let data = json!({ "content_index": 0, "part": output_text(&text) });
            self.send_for_item("response.content_part.done", output_index, &id, data, out);
            message_item(&id, &text)
        } else {
            let data = json!({ "summary_index": 0, "text": text });
            self.send_for_item(
                "response.reasoning_summary_text.done",
                output_index,
                &id,
                data,
                out,
            );
            let data = json!({ "summary_index": 0, "part": summary_text(&text) });
            self.send_for_item(
                "response.reasoning_summary_part.done",
                output_index,
                &id,
                data,
                out,
            );
            reasoning_item(&id, &text, signature)
        };
        self.finish(output_index, item, out);
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
        let item_id = item_id(&self.response, call_prefix(kind), self.started);
        let output_index = self.open_item(&call_item(&item_id, &call, "in_progress"), out);
        self.calls.push((index, output_index, call));
    }

    pub(super) fn call_input(&mut self, index: usize, delta: &str, out: &mut FrameWriter) {
        let found = self.calls.iter_mut().find(|(call, ..)| *call == index);
        let Some((_, output_index, call)) = found else {
            return;
        };
        call.input.push_str(delta);
        let (output_index, kind) = (*output_index, call.kind);
        let id = item_id(&self.response, call_prefix(kind), output_index);
        let name = match kind {
            ToolInputKind::Function => "response.function_call_arguments.delta",
            ToolInputKind::Freeform => "response.custom_tool_call_input.delta",
        };
        self.send_for_item(name, output_index, &id, json!({ "delta": delta }), out);
    }

    pub(super) fn call_end(&mut self, index: usize, out: &mut FrameWriter) {
        let Some(at) = self.calls.iter().position(|(call, ..)| *call == index) else {
            return;
        };
        let (_, output_index, call) = self.calls.remove(at);
        let id = item_id(&self.response, call_prefix(call.kind), output_index);
        let (name, key) = match call.kind {
            ToolInputKind::Function => ("response.function_call_arguments.done", "arguments"),
            ToolInputKind::Freeform => ("response.custom_tool_call_input.done", "input"),
        };
        self.send_for_item(name, output_index, &id, json!({ key: call.input }), out);
        self.finish(output_index, call_item(&id, &call, "completed"), out);
    }

    pub(super) fn close_all(&mut self, out: &mut FrameWriter) {
        self.close(None, out);
        while let Some((index, ..)) = self.calls.first() {
            self.call_end(*index, out);
        }
    }

    fn open_item(&mut self, item: &Value, out: &mut FrameWriter) -> usize {
        let output_index = self.started;
        self.started += 1;
        let data = json!({ "output_index": output_index, "item": item });
        self.send("response.output_item.added", data, out);
        output_index
    }

    fn finish(&mut self, output_index: usize, item: Value, out: &mut FrameWriter) {
        let data = json!({ "output_index": output_index, "item": item });
        self.send("response.output_item.done", data, out);
        self.done.insert(output_index, item);
    }

    /// Sends an event about one item.
    fn send_for_item(
        &mut self,
        name: &str,
        output_index: usize,
        id: &str,
        mut data: Value,
        out: &mut FrameWriter,
    ) {
        data["item_id"] = id.into();
        data["output_index"] = output_index.into();
        self.send(name, data, out);
    }
}

/// Returns an id for an item, made from the response's id and the item's output index.
pub(super) fn item_id(response: &str, prefix: &str, output_index: usize) -> String {
    let response = response.strip_prefix("resp_").unwrap_or(response);
    format!("{prefix}_{response}_{output_index}")
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
