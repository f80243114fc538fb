//! Renders a conversation as plain text, for an agent that is stateless.
//!
//! ```
//! use windlass_agents::cli::transcript::{TranscriptMessage, parse, render};
//!
//! let dialog = [TranscriptMessage::system("Be brief."), TranscriptMessage::user("Hi!")];
//! let text = render(&dialog);
//! assert_eq!(text, "<<<ROLE:SYSTEM>>>\nBe brief.\n\n<<<ROLE:USER>>>\nHi!");
//! assert_eq!(parse(&text).as_deref(), Some(&dialog[..]));
//! ```
//!
//! Each message follows a line that marks its role, with a blank line between messages. If the text of a
//! message contains the start of such a marker, for any role and in any case, it is escaped with a backslash.

use windlass_wire as wire;

/// The start of every marker.
const MARKER_START: &str = "<<<ROLE:";

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptRole {
    /// The system prompt.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl TranscriptRole {
    const ALL: [Self; 3] = [Self::System, Self::User, Self::Assistant];

    /// Returns the line above a message of this role.
    fn marker(self) -> &'static str {
        match self {
            Self::System => "<<<ROLE:SYSTEM>>>",
            Self::User => "<<<ROLE:USER>>>",
            Self::Assistant => "<<<ROLE:ASSISTANT>>>",
        }
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptMessage {
    /// The author.
    pub role: TranscriptRole,
    /// The content.
    pub text: String,
}

impl TranscriptMessage {
    /// Creates a system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(TranscriptRole::System, text)
    }

    /// Creates a user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(TranscriptRole::User, text)
    }

    /// Creates an assistant message.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(TranscriptRole::Assistant, text)
    }

    fn new(role: TranscriptRole, text: impl Into<String>) -> Self {
        Self {
            role,
            text: text.into(),
        }
    }
}

/// Converts those messages of a model request that can be rendered as text. Tool results become user
/// messages.
pub fn messages(request: &wire::ModelRequest) -> Vec<TranscriptMessage> {
    let instructions = request.instructions.iter().map(|text| text.text.as_str());
    let instructions = instructions.collect::<Vec<_>>().join("\n\n");
    let system = (!instructions.is_empty()).then(|| TranscriptMessage::system(instructions));
    let rest = request.messages.iter().map(|message| {
        let role = match message.role {
            wire::Role::System | wire::Role::Developer => TranscriptRole::System,
            wire::Role::Assistant => TranscriptRole::Assistant,
            wire::Role::User | wire::Role::Tool => TranscriptRole::User,
        };
        TranscriptMessage::new(role, message_text(message))
    });
    system.into_iter().chain(rest).collect()
}

/// Returns the text of a message. It includes tool calls and their results, because the rest of the
/// conversation may depend on them.
fn message_text(message: &wire::Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        wire::Part::Text(text) => Some(text.text.clone()),
        wire::Part::ToolCall(call) => Some(format!("[called {} with {}]", call.name, call.input)),
        wire::Part::ToolResult(result) => {
            let outcome = if result.is_error {
                "failed"
            } else {
                "returned"
            };
            Some(format!("[{} {outcome}]\n{}", result.name, result.text()))
        }
        _ => None,
    });
    let texts = texts.filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Renders the conversation as one text.
pub fn render(messages: &[TranscriptMessage]) -> String {
    let mut text = String::new();
    for message in messages {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(message.role.marker());
        text.push('\n');
        escape(&message.text, &mut text);
    }
    text
}

/// Parses a text that [`render`] produced. Returns `None` for any other text.
pub fn parse(text: &str) -> Option<Vec<TranscriptMessage>> {
    let mut messages: Vec<TranscriptMessage> = Vec::new();
    let mut content = String::new();
    let mut rest = text;
    while let Some(found) = next_marker(rest) {
        let plain = found.before.trim_end_matches('\\');
        content.push_str(plain);
        match found.before.len() - plain.len() {
            0 => {
                let role = found.role?;
                // One blank line separates it from the previous message.
                match messages.last_mut() {
                    Some(last) => last.text = content.strip_suffix("\n\n")?.to_owned(),
                    None if !content.is_empty() => return None,
                    None => {}
                }
                content.clear();
                messages.push(TranscriptMessage::new(role, ""));
                rest = found.after.strip_prefix('\n')?;
            }
            slashes => {
                content.push_str(&"\\".repeat(slashes - 1));
                content.push_str(found.marker);
                rest = found.after;
            }
        }
    }
    content.push_str(rest);
    match messages.last_mut() {
        Some(last) => last.text = content,
        None if !content.is_empty() => return None,
        None => {}
    }
    Some(messages)
}

/// Adds one backslash to every marker in the content.
fn escape(mut content: &str, text: &mut String) {
    while let Some(found) = next_marker(content) {
        text.push_str(found.before);
        text.push('\\');
        text.push_str(found.marker);
        content = found.after;
    }
    text.push_str(content);
}

/// Returns `true` if the text contains the start of a marker, for any role and in any case.
pub fn contains_marker(text: &str) -> bool {
    next_marker(text).is_some()
}

/// A marker in a text, or only the start of one.
struct FoundMarker<'a> {
    before: &'a str,
    marker: &'a str,
    /// The role, if the marker is complete and exact.
    role: Option<TranscriptRole>,
    after: &'a str,
}

/// Finds the first start of a marker.
fn next_marker(text: &str) -> Option<FoundMarker<'_>> {
    let is_start = |at: &usize| {
        let start = text.get(*at..at + MARKER_START.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(MARKER_START))
    };
    let at = text.match_indices('<').map(|(at, _)| at).find(is_start)?;
    let role = TranscriptRole::ALL
        .into_iter()
        .find(|role| text[at..].starts_with(role.marker()));
    let length = role.map_or(MARKER_START.len(), |role| role.marker().len());
    let (marker, after) = text[at..].split_at(length);
    Some(FoundMarker {
        before: &text[..at],
        marker,
        role,
        after,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The example from the documentation of the format.
    #[test]
    fn documented_example_is_rendered() {
        let dialog = [
            TranscriptMessage::system("You are a helpful assistant."),
            TranscriptMessage::user("Hi! What's your name?"),
            TranscriptMessage::assistant(
                "I'm Composer, a language model trained by Cursor. I help with coding tasks in your editor.",
            ),
            TranscriptMessage::user("What can you do?"),
        ];
        let text = "\
<<<ROLE:SYSTEM>>>
You are a helpful assistant.

<<<ROLE:USER>>>
Hi! What's your name?

<<<ROLE:ASSISTANT>>>
I'm Composer, a language model trained by Cursor. I help with coding tasks in your editor.

<<<ROLE:USER>>>
What can you do?";
        assert_eq!(render(&dialog), text);
        assert_eq!(parse(text).as_deref(), Some(&dialog[..]));
    }

    #[test]
    fn markers_in_content_are_escaped() {
        let check = |content: &str, expected: &str| {
            let text = render(&[TranscriptMessage::user(content)]);
            assert_eq!(text, format!("<<<ROLE:USER>>>\n{expected}"));
            assert_eq!(parse(&text), Some(vec![TranscriptMessage::user(content)]));
        };
        check("<<<ROLE:SYSTEM>>>", "\\<<<ROLE:SYSTEM>>>");
        check("a \\<<<ROLE:USER>>> b", "a \\\\<<<ROLE:USER>>> b");
        check("<<<<ROLE:USER>>>>", "<\\<<<ROLE:USER>>>>");
        check("<<<ROLE:TOOL>>> <<<ROLE:", "\\<<<ROLE:TOOL>>> \\<<<ROLE:");
        check("<<<role:system>>>", "\\<<<role:system>>>");
        check("<<ROLE:SYSTEM>>", "<<ROLE:SYSTEM>>");
        check("ends in \\", "ends in \\");
    }

    #[test]
    fn other_text_is_not_parsed() {
        for text in [
            "hello",
            "hello\n\n<<<ROLE:USER>>>\nhello",
            "<<<ROLE:USER>>>",
            "<<<ROLE:USER>>> hello",
            "<<<ROLE:USER>>>\nhello\n<<<ROLE:USER>>>\nagain",
            "<<<ROLE:USER>>>\nhello\n\n<<<ROLE:TOOL>>>\nagain",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(parse(""), Some(Vec::new()));
    }

    #[test]
    fn request_messages_are_converted() {
        let message = |role, text: &str| {
            let text = wire::Part::text(text);
            wire::Message::new(role, vec![text])
        };
        let request = wire::ModelRequest {
            messages: vec![
                message(wire::Role::Developer, "Rule."),
                message(wire::Role::User, "Hi"),
                message(wire::Role::Assistant, "Hello"),
            ],
            ..wire::ModelRequest::new("composer-cli/x")
        };
        let converted = messages(&request);
        assert_eq!(
            converted,
            [
                TranscriptMessage::system("Rule."),
                TranscriptMessage::user("Hi"),
                TranscriptMessage::assistant("Hello")
            ]
        );
    }

    #[test]
    fn tool_calls_and_results_are_rendered() {
        let call = wire::Part::ToolCall(wire::ToolCall {
            name: "weather".to_owned(),
            input: "{\"city\":\"Brno\"}".to_owned(),
            ..wire::ToolCall::default()
        });
        let result = wire::Part::ToolResult(wire::ToolResult {
            name: "weather".to_owned(),
            parts: vec![wire::Part::text("sunny")],
            ..wire::ToolResult::default()
        });
        let request = wire::ModelRequest {
            messages: vec![
                wire::Message::new(wire::Role::Assistant, vec![call]),
                wire::Message::new(wire::Role::Tool, vec![result]),
            ],
            ..wire::ModelRequest::default()
        };
        assert_eq!(
            messages(&request),
            [
                TranscriptMessage::assistant("[called weather with {\"city\":\"Brno\"}]"),
                TranscriptMessage::user("[weather returned]\nsunny"),
            ]
        );
    }

    /// Generates text from parts that could be misread.
    fn ambiguous_text() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "<<<ROLE:SYSTEM>>>",
            "<<<ROLE:USER>>>",
            "<<<ROLE:ASSISTANT>>>",
            "<<<role:user>>>",
            "<<<ROLE:",
            ">>>",
            "<",
            "\\",
            "\\\\",
            "\n",
            "\n\n",
            "\r\n",
            " ",
            "a",
            "é",
        ]);
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    fn dialog() -> impl Strategy<Value = Vec<TranscriptMessage>> {
        let role = prop::sample::select(TranscriptRole::ALL.to_vec());
        let content = prop_oneof![ambiguous_text(), any::<String>()];
        let message = (role, content).prop_map(|(role, text)| TranscriptMessage { role, text });
        prop::collection::vec(message, 0..6)
    }

    proptest! {
        #[test]
        fn rendered_dialog_parses_to_itself(dialog in dialog()) {
            prop_assert_eq!(parse(&render(&dialog)), Some(dialog));
        }

        #[test]
        fn parsed_text_renders_to_itself(text in ambiguous_text()) {
            let rendered = parse(&text).map(|dialog| render(&dialog));
            prop_assert!(rendered.is_none_or(|rendered| rendered == text));
        }
    }
}
