//! A conversation as one plain text, for an agent that remembers nothing.
//!
//! ```
//! use windlass_agents::cli::transcript::{Message, parse, render};
//!
//! let dialog = [Message::system("Be brief."), Message::user("Hi!")];
//! let text = render(&dialog);
//! assert_eq!(text, "<<<ROLE:SYSTEM>>>\nBe brief.\n\n<<<ROLE:USER>>>\nHi!");
//! assert_eq!(parse(&text).as_deref(), Some(&dialog[..]));
//! ```
//!
//! Each message stands below a line that says who speaks, with a blank line between messages. Where the words of a
//! message hold such a line, a backslash before it says that nobody speaks there.

use windlass_wire as wire;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptRole {
    /// Whoever sets the rules.
    System,
    /// Whoever asks.
    User,
    /// Whoever answers.
    Assistant,
}

impl TranscriptRole {
    const ALL: [Self; 3] = [Self::System, Self::User, Self::Assistant];

    /// The line above what this one says.
    fn marker(self) -> &'static str {
        match self {
            Self::System => "<<<ROLE:SYSTEM>>>",
            Self::User => "<<<ROLE:USER>>>",
            Self::Assistant => "<<<ROLE:ASSISTANT>>>",
        }
    }
}

/// What one of them said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptMessage {
    /// Who.
    pub role: TranscriptRole,
    /// What.
    pub text: String,
}

impl TranscriptMessage {
    /// A rule.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(TranscriptRole::System, text)
    }

    /// A question.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(TranscriptRole::User, text)
    }

    /// An answer.
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

/// The messages of a request to a model, as far as they can be said in words. What tools gave is the user's.
pub fn messages(request: &wire::ModelRequest) -> Vec<TranscriptMessage> {
    let instructions = request.instructions.iter().map(|text| text.text.as_str());
    let instructions = instructions.collect::<Vec<_>>().join("\n\n");
    let rules = (!instructions.is_empty()).then(|| TranscriptMessage::system(instructions));
    let spoken = request.messages.iter().map(|message| {
        let role = match message.role {
            wire::Role::System | wire::Role::Developer => TranscriptRole::System,
            wire::Role::Assistant => TranscriptRole::Assistant,
            wire::Role::User | wire::Role::Tool => TranscriptRole::User,
        };
        TranscriptMessage::new(role, text_of(message))
    });
    rules.into_iter().chain(spoken).collect()
}

/// What a message says. Calls and what they gave are said, too: whoever goes on with the conversation must know.
fn text_of(message: &wire::Message) -> String {
    let said = message.parts.iter().filter_map(|part| match part {
        wire::Part::Text(text) => Some(text.text.clone()),
        wire::Part::ToolCall(call) => Some(format!("[called {} with {}]", call.name, call.input)),
        wire::Part::ToolResult(result) => {
            let gave = if result.is_error { "failed" } else { "gave" };
            Some(format!("[{} {gave}]\n{}", result.name, result.text()))
        }
        _ => None,
    });
    let said = said.filter(|words| !words.is_empty());
    said.collect::<Vec<_>>().join("\n\n")
}

/// The conversation as one text.
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

/// The conversation that [`render`] made this text of; `None` if it made it of none.
pub fn parse(text: &str) -> Option<Vec<TranscriptMessage>> {
    let mut messages: Vec<TranscriptMessage> = Vec::new();
    let mut words = String::new();
    let mut rest = text;
    while let Some((before, role, after)) = next_mark(rest) {
        let plain = before.trim_end_matches('\\');
        words.push_str(plain);
        match before.len() - plain.len() {
            0 => {
                // One blank line parts it from the message before.
                match messages.last_mut() {
                    Some(last) => last.text = words.strip_suffix("\n\n")?.to_owned(),
                    None if !words.is_empty() => return None,
                    None => {}
                }
                words.clear();
                messages.push(TranscriptMessage::new(role, ""));
                rest = after.strip_prefix('\n')?;
            }
            slashes => {
                words.push_str(&"\\".repeat(slashes - 1));
                words.push_str(role.marker());
                rest = after;
            }
        }
    }
    words.push_str(rest);
    match messages.last_mut() {
        Some(last) => last.text = words,
        None if !words.is_empty() => return None,
        None => {}
    }
    Some(messages)
}

/// Gives every mark in the words one more backslash than it has.
fn escape(mut words: &str, text: &mut String) {
    while let Some((before, role, after)) = next_mark(words) {
        text.push_str(before);
        text.push('\\');
        text.push_str(role.marker());
        words = after;
    }
    text.push_str(words);
}

/// What stands before the first mark, whose it is, and what stands behind it.
fn next_mark(text: &str) -> Option<(&str, TranscriptRole, &str)> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find("<<<ROLE:")?;
        let role = TranscriptRole::ALL
            .into_iter()
            .find(|role| text[at..].starts_with(role.marker()));
        match role {
            Some(role) => return Some((&text[..at], role, &text[at + role.marker().len()..])),
            None => from = at + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The dialog that the format was described with.
    #[test]
    fn four_messages_as_they_are_documented() {
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
    fn words_that_look_like_a_speaker_are_words() {
        let check = |words: &str, expected: &str| {
            let text = render(&[TranscriptMessage::user(words)]);
            assert_eq!(text, format!("<<<ROLE:USER>>>\n{expected}"));
            assert_eq!(parse(&text), Some(vec![TranscriptMessage::user(words)]));
        };
        check("<<<ROLE:SYSTEM>>>", "\\<<<ROLE:SYSTEM>>>");
        check("a \\<<<ROLE:USER>>> b", "a \\\\<<<ROLE:USER>>> b");
        check("<<<<ROLE:USER>>>>", "<\\<<<ROLE:USER>>>>");
        check("<<<ROLE:TOOL>>> <<<ROLE:", "<<<ROLE:TOOL>>> <<<ROLE:");
        check("ends in \\", "ends in \\");
    }

    #[test]
    fn what_nobody_rendered_is_no_transcript() {
        for text in [
            "hello",
            "hello\n\n<<<ROLE:USER>>>\nhello",
            "<<<ROLE:USER>>>",
            "<<<ROLE:USER>>> hello",
            "<<<ROLE:USER>>>\nhello\n<<<ROLE:USER>>>\nagain",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(parse(""), Some(Vec::new()));
    }

    #[test]
    fn a_request_is_its_text() {
        let said = |role, text: &str| {
            let text = wire::Part::text(text);
            wire::Message::new(role, vec![text])
        };
        let request = wire::ModelRequest {
            messages: vec![
                said(wire::Role::Developer, "Rule."),
                said(wire::Role::User, "Hi"),
                said(wire::Role::Assistant, "Hello"),
            ],
            ..wire::ModelRequest::new("composer-cli/x")
        };
        let found = messages(&request);
        assert_eq!(
            found,
            [
                TranscriptMessage::system("Rule."),
                TranscriptMessage::user("Hi"),
                TranscriptMessage::assistant("Hello")
            ]
        );
    }

    #[test]
    fn calls_and_what_they_gave_are_said() {
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
                TranscriptMessage::user("[weather gave]\nsunny"),
            ]
        );
    }

    /// Words made of the pieces that could be misread.
    fn text_of() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "<<<ROLE:SYSTEM>>>",
            "<<<ROLE:USER>>>",
            "<<<ROLE:ASSISTANT>>>",
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
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    fn dialog() -> impl Strategy<Value = Vec<TranscriptMessage>> {
        let role = prop::sample::select(TranscriptRole::ALL.to_vec());
        let words = prop_oneof![text_of(), any::<String>()];
        let message = (role, words).prop_map(|(role, text)| TranscriptMessage { role, text });
        prop::collection::vec(message, 0..6)
    }

    proptest! {
        #[test]
        fn every_dialog_comes_back_as_it_was(dialog in dialog()) {
            prop_assert_eq!(parse(&render(&dialog)), Some(dialog));
        }

        #[test]
        fn what_can_be_read_is_written_the_same_way(text in text_of()) {
            let again = parse(&text).map(|dialog| render(&dialog));
            prop_assert!(again.is_none_or(|again| again == text));
        }
    }
}
