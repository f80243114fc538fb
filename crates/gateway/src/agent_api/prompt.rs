//! What an agent that takes only text is told.

use windlass_agents::cli::transcript::{TranscriptMessage, TranscriptRole, render};

/// Signs at the beginning of a prompt by which agents know commands of their own.
const COMMAND_PREFIXES: [char; 5] = ['/', '!', '#', '@', '$'];

/// The conversation as one prompt.
///
/// One message of the user alone is said as it is: that is what the agent expects, and marks around it would only be
/// answered in kind. But one that begins like a command of the agent's own is put below the user's mark, so that it
/// stays what it is, words.
pub(super) fn render_prompt(messages: &[TranscriptMessage]) -> String {
    match messages {
        [only] if only.role == TranscriptRole::User && !only.text.starts_with(COMMAND_PREFIXES) => {
            only.text.clone()
        }
        messages => render(messages),
    }
}

/// An answer without the mark that an agent may have learnt from the transcript.
pub(super) fn strip_role_marker(answer: &str) -> &str {
    let rest = answer.strip_prefix("<<<ROLE:ASSISTANT>>>");
    rest.map_or(answer, |rest| rest.trim_start_matches(['\r', '\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_is_itself_and_more_are_a_transcript() {
        assert_eq!(render_prompt(&[TranscriptMessage::user("hi")]), "hi");
        assert_eq!(
            render_prompt(&[TranscriptMessage::user("/clear")]),
            "<<<ROLE:USER>>>\n/clear"
        );
        assert_eq!(
            render_prompt(&[TranscriptMessage::system("rule")]),
            "<<<ROLE:SYSTEM>>>\nrule"
        );
        assert_eq!(
            render_prompt(&[
                TranscriptMessage::system("rule"),
                TranscriptMessage::user("hi")
            ]),
            "<<<ROLE:SYSTEM>>>\nrule\n\n<<<ROLE:USER>>>\nhi"
        );
    }

    #[test]
    fn a_learnt_mark_is_taken_off() {
        assert_eq!(strip_role_marker("<<<ROLE:ASSISTANT>>>\nhi"), "hi");
        assert_eq!(
            strip_role_marker("hi <<<ROLE:ASSISTANT>>>"),
            "hi <<<ROLE:ASSISTANT>>>"
        );
    }
}
