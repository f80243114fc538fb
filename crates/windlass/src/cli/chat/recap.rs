//! A conversation as text: for an agent that has not seen it, and for the description of a task. Pure.

use super::records::ChatTurn;

/// Maximum size of a recap.
const MAX_BYTES: usize = 24 << 10;
/// Maximum size of one prompt or answer in a recap.
const MAX_TEXT_BYTES: usize = 4 << 10;

/// Returns a prompt for an agent that has not seen the conversation.
pub(super) fn prompt(turns: &[ChatTurn], prompt: &str) -> String {
    let conversation = transcript(turns);
    if conversation.is_empty() {
        return prompt.to_owned();
    }
    format!(
        "This continues a conversation that you have not seen. The conversation so far:\n\n{conversation}\nThe user now says:\n\n{prompt}"
    )
}

/// Returns the newest turns as text, oldest first.
pub(super) fn transcript(turns: &[ChatTurn]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut bytes = 0;
    for turn in turns.iter().rev() {
        let undone = if turn.undone {
            "(The user undid the changes of files of this turn.)\n"
        } else {
            ""
        };
        let part = format!(
            "User: {}\n{}: {}\n{undone}\n",
            shorten(&turn.prompt),
            turn.agent,
            shorten(&turn.answer)
        );
        bytes += part.len();
        if bytes > MAX_BYTES {
            parts.push("(Earlier turns are omitted.)\n\n".to_owned());
            break;
        }
        parts.push(part);
    }
    parts.reverse();
    parts.concat()
}

/// Shortens a text to its start.
fn shorten(text: &str) -> String {
    let text = text.trim();
    if text.len() <= MAX_TEXT_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    format!("{} […]", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(prompt: &str, answer: &str) -> ChatTurn {
        ChatTurn {
            prompt: prompt.to_owned(),
            answer: answer.to_owned(),
            agent: "codex".to_owned(),
            ..ChatTurn::default()
        }
    }

    #[test]
    fn recap_has_the_newest_turns_in_order() {
        assert_eq!(prompt(&[], "Hi"), "Hi");
        let mut second = turn("Two?", "2");
        second.undone = true;
        let text = prompt(&[turn("One?", "1"), second], "Three?");
        let expected = "User: One?\ncodex: 1\n\nUser: Two?\ncodex: 2\n(The user undid the changes of files of this turn.)\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.ends_with("The user now says:\n\nThree?"), "{text}");
        let many = vec![turn(&"é".repeat(9000), "x"); 20];
        let text = prompt(&many, "now");
        assert!(text.len() < MAX_BYTES + 500, "{}", text.len());
        assert!(text.contains("(Earlier turns are omitted.)"));
    }
}
