//! Strategies for arbitrary requests and responses.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_wire::*;

/// Any of the five dialects.
pub(super) fn dialect() -> impl Strategy<Value = Dialect> {
    proptest::sample::select(Dialect::ALL.to_vec())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,16}",
        Just("{\"output\":\"x\"}".to_owned()),
        Just("{\"a\":1}".to_owned())
    ]
}

fn name() -> impl Strategy<Value = String> {
    "[a-z_]{1,8}"
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[a-z]{1,4}", inner), 0..3)
                .prop_map(|list| Value::Object(list.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    vec(("[a-z]{1,4}", json_value()), 0..3)
        .prop_map(|list| Value::Object(list.into_iter().collect()))
}

/// Unknown fields. No API has a field with this prefix.
fn extra() -> impl Strategy<Value = Extra> {
    vec(("x_[a-z]{1,3}", any::<u32>().prop_map(Value::from)), 0..2)
        .prop_map(|list| list.into_iter().collect())
}

fn text_part() -> impl Strategy<Value = Text> {
    (text(), extra()).prop_map(|(text, extra)| Text { text, extra })
}

fn image() -> impl Strategy<Value = Image> {
    let source = prop_oneof![
        "https://[a-z]{1,8}/a\\.png".prop_map(|url| ImageSource::Url { url }),
        ("(image/png|image/jpeg)", "(iVBOR|/9j/4)[A-Za-z0-9]{0,8}")
            .prop_map(|(media_type, data)| ImageSource::Inline { media_type, data }),
    ];
    (source, extra()).prop_map(|(source, extra)| Image { source, extra })
}

fn opaque() -> impl Strategy<Value = Opaque> {
    (dialect(), any::<u8>()).prop_map(|(dialect, n)| {
        let value = match dialect {
            Dialect::Gemini => json!({ "xOpaque": { "n": n } }),
            _ => json!({ "type": "x_opaque", "name": "x", "n": n }),
        };
        Opaque { dialect, value }
    })
}

fn reasoning() -> impl Strategy<Value = Reasoning> {
    (text(), option::of("[A-Za-z0-9+/]{1,12}"), any::<bool>()).prop_map(
        |(text, signature, hide)| {
            let redacted = hide && signature.is_some();
            Reasoning {
                text: if redacted { String::new() } else { text },
                signature,
                redacted,
                extra: Extra::new(),
            }
        },
    )
}

fn call() -> impl Strategy<Value = ToolCall> {
    let input = prop_oneof![
        4 => object().prop_map(|value| value.to_string()),
        1 => text(),
    ];
    let kind = prop_oneof![3 => Just(ToolInputKind::Function), 1 => Just(ToolInputKind::Freeform)];
    let id = "call_[0-9]{1,2}";
    (id, name(), kind, input, option::of("[A-Z]{1,4}"), extra()).prop_map(
        |(id, name, kind, input, signature, extra)| ToolCall {
            id,
            name,
            kind,
            input,
            signature,
            extra,
        },
    )
}

fn result() -> impl Strategy<Value = ToolResult> {
    let part = prop_oneof![
        3 => text_part().prop_map(Part::Text),
        1 => image().prop_map(Part::Image),
        1 => opaque().prop_map(Part::Opaque),
    ];
    (
        "call_[0-9]{1,2}",
        name(),
        vec(part, 0..3),
        any::<bool>(),
        extra(),
    )
        .prop_map(|(call_id, name, parts, is_error, extra)| ToolResult {
            call_id,
            name,
            kind: ToolInputKind::Function,
            parts,
            is_error,
            extra,
        })
}

/// A message with any role, possibly with parts that the role does not allow.
fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![
        Just(Role::System),
        Just(Role::Developer),
        Just(Role::User),
        Just(Role::Assistant),
        Just(Role::Tool),
    ];
    let part = prop_oneof![
        4 => text_part().prop_map(Part::Text),
        1 => image().prop_map(Part::Image),
        2 => reasoning().prop_map(Part::Reasoning),
        3 => call().prop_map(Part::ToolCall),
        3 => result().prop_map(Part::ToolResult),
        1 => opaque().prop_map(Part::Opaque),
    ];
    (role, vec(part, 0..5), extra()).prop_map(|(role, parts, extra)| Message { role, parts, extra })
}

fn tool() -> impl Strategy<Value = ToolDefinition> {
    let function = (
        name(),
        option::of(text()),
        object(),
        option::of(any::<bool>()),
        extra(),
    );
    let function = function.prop_map(|(name, description, schema, strict, extra)| {
        ToolDefinition::Function(FunctionTool {
            name,
            description,
            schema,
            strict,
            extra,
        })
    });
    let grammar =
        ("lark|regex", text()).prop_map(|(syntax, definition)| Grammar { syntax, definition });
    let freeform = (name(), option::of(text()), option::of(grammar), extra());
    let freeform = freeform.prop_map(|(name, description, grammar, extra)| {
        ToolDefinition::Freeform(FreeformTool {
            name,
            description,
            grammar,
            extra,
        })
    });
    prop_oneof![3 => function, 1 => freeform, 1 => opaque().prop_map(ToolDefinition::Hosted)]
}

fn tool_choice() -> impl Strategy<Value = ToolChoice> {
    prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        name().prop_map(|name| ToolChoice::Named { name }),
    ]
}

fn output() -> impl Strategy<Value = OutputFormat> {
    let schema = (
        option::of(name()),
        option::of(text()),
        object(),
        option::of(any::<bool>()),
    );
    prop_oneof![
        Just(OutputFormat::Text),
        Just(OutputFormat::Json),
        schema.prop_map(|(name, description, schema, strict)| {
            OutputFormat::JsonSchema(JsonSchema {
                name,
                description,
                schema,
                strict,
            })
        }),
    ]
}

fn sampling() -> impl Strategy<Value = Sampling> {
    let number = || option::of(0.0..2.0);
    (
        (number(), number(), number(), number()),
        option::of(1..500_u64),
        option::of(any::<i64>()),
        vec(text(), 0..3),
    )
        .prop_map(
            |((temperature, top_p, presence_penalty, frequency_penalty), top_k, seed, stop)| {
                Sampling {
                    temperature,
                    top_p,
                    top_k,
                    seed,
                    stop,
                    presence_penalty,
                    frequency_penalty,
                }
            },
        )
}

/// Any request, with any origin.
pub(super) fn request() -> impl Strategy<Value = ModelRequest> {
    let conversation = (
        option::of(dialect()),
        name(),
        vec(text_part(), 0..3),
        vec(message(), 0..6),
    );
    let tool_use = (
        vec(tool(), 0..4),
        option::of(tool_choice()),
        option::of(any::<bool>()),
    );
    let settings = (
        output(),
        sampling(),
        option::of(1..100_000_u64),
        any::<(bool, bool)>(),
        extra(),
    );
    (conversation, tool_use, settings).prop_map(|(conversation, tool_use, settings)| {
        let (origin, model, instructions, messages) = conversation;
        let (tools, tool_choice, parallel_tools) = tool_use;
        let (output, sampling, max_tokens, (stream, stream_usage), extra) = settings;
        ModelRequest {
            origin,
            model,
            instructions,
            messages,
            tools,
            tool_choice,
            parallel_tools,
            output,
            sampling,
            max_tokens,
            stream,
            stream_usage,
            extra,
        }
    })
}

fn usage() -> impl Strategy<Value = TokenUsage> {
    any::<(u16, u16, u16, u16, u16)>().prop_map(|(fresh, read, write, text, reasoning)| {
        TokenUsage {
            input_tokens: u64::from(fresh) + u64::from(read) + u64::from(write),
            output_tokens: u64::from(text) + u64::from(reasoning),
            cache_read_tokens: read.into(),
            cache_write_tokens: write.into(),
            reasoning_tokens: reasoning.into(),
        }
    })
}

/// Any response.
pub(super) fn response() -> impl Strategy<Value = ModelResponse> {
    let part = prop_oneof![
        3 => text().prop_map(Part::text),
        2 => reasoning().prop_map(Part::Reasoning),
        3 => call().prop_map(Part::ToolCall),
        1 => opaque().prop_map(Part::Opaque),
    ];
    let stop = proptest::sample::select(vec![
        StopReason::EndTurn,
        StopReason::ToolUse,
        StopReason::MaxTokens,
        StopReason::StopSequence,
        StopReason::Refusal,
        StopReason::Pause,
    ]);
    (
        "[a-z0-9_]{1,8}",
        name(),
        vec(part, 0..5),
        option::of(stop),
        option::of(usage()),
    )
        .prop_map(|(id, model, parts, stop, usage)| ModelResponse {
            id,
            model,
            parts,
            stop,
            usage,
        })
}
