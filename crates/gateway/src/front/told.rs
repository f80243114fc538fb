//! What an agent that takes only text is told.

use windlass_agents::cli::transcript::{Message, Role, render};

/// Signs at the beginning of a prompt by which agents know commands of their own.
const COMMANDS: [char; 5] = ['/', '!', '#', '@', '$'];

/// The conversation as one prompt.
///
/// One message of the user alone is said as it is: that is what the agent expects, and marks around it would only be
/// answered in kind. But one that begins like a command of the agent's own is put below the user's mark, so that it
/// stays what it is, words.
pub(super) fn prompt(messages: &[Message]) -> String {
    match messages {
        [only] if only.role == Role::User && !only.text.starts_with(COMMANDS) => only.text.clone(),
        messages => render(messages),
    }
}

/// An answer without the mark that an agent may have learnt from the transcript.
pub(super) fn unmarked(answer: &str) -> &str {
    let rest = answer.strip_prefix("<<<ROLE:ASSISTANT>>>");
    rest.map_or(answer, |rest| rest.trim_start_matches(['\r', '\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_is_itself_and_more_are_a_transcript() {
        assert_eq!(prompt(&[Message::user("hi")]), "hi");
        assert_eq!(
            prompt(&[Message::user("/clear")]),
            "<<<ROLE:USER>>>\n/clear"
        );
        assert_eq!(
            prompt(&[Message::system("rule")]),
            "<<<ROLE:SYSTEM>>>\nrule"
        );
        assert_eq!(
            prompt(&[Message::system("rule"), Message::user("hi")]),
            "<<<ROLE:SYSTEM>>>\nrule\n\n<<<ROLE:USER>>>\nhi"
        );
    }

    #[test]
    fn a_learnt_mark_is_taken_off() {
        assert_eq!(unmarked("<<<ROLE:ASSISTANT>>>\nhi"), "hi");
        assert_eq!(
            unmarked("hi <<<ROLE:ASSISTANT>>>"),
            "hi <<<ROLE:ASSISTANT>>>"
        );
    }
}
