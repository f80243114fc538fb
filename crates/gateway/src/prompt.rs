//! The prompt of an agent that accepts only text.

use windlass_agents::cli::transcript::{TranscriptMessage, TranscriptRole, render};

/// Characters at the start of a prompt that agents interpret as their own commands.
const COMMAND_PREFIXES: [char; 5] = ['/', '!', '#', '@', '$'];

/// Renders the conversation as one prompt.
///
/// A single message of the user is sent unchanged: the agent expects that, and would answer role markers with
/// role markers. A message that starts like one of the agent's own commands is put below the user's role
/// marker, so that it is treated as text.
pub(crate) fn render_prompt(messages: &[TranscriptMessage]) -> String {
    match messages {
        [only] if only.role == TranscriptRole::User && !only.text.starts_with(COMMAND_PREFIXES) => {
            only.text.clone()
        }
        messages => render(messages),
    }
}

/// Removes the role marker that an agent may have copied from the transcript.
pub(crate) fn strip_role_marker(answer: &str) -> &str {
    let rest = answer.strip_prefix("<<<ROLE:ASSISTANT>>>");
    rest.map_or(answer, |rest| rest.trim_start_matches(['\r', '\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_message_is_unchanged_and_several_are_a_transcript() {
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
    fn copied_role_marker_is_removed() {
        assert_eq!(strip_role_marker("<<<ROLE:ASSISTANT>>>\nhi"), "hi");
        assert_eq!(
            strip_role_marker("hi <<<ROLE:ASSISTANT>>>"),
            "hi <<<ROLE:ASSISTANT>>>"
        );
    }
}
