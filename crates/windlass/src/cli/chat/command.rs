//! Parses a line of a chat: a prompt, or a command that starts with a slash. Pure.

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatCommand {
    Help,
    Agent(Option<String>),
    Model(Option<String>),
    Diff(DiffRange),
    Undo,
    Task(String),
    New,
    List,
    Quit,
}

/// What a diff covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffRange {
    /// The whole conversation.
    Conversation,
    /// The last turn that was not undone.
    LastTurn,
}

/// A line that was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatLine {
    Empty,
    Prompt(String),
    Command(ChatCommand),
    /// Not a command, with the reason.
    Invalid(String),
}

/// The commands with their arguments and descriptions.
pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("/help", "", "list the commands"),
    (
        "/agent",
        "[NAME]",
        "show the agents, or continue with another one",
    ),
    (
        "/model",
        "[NAME]",
        "show the model, or continue with another one",
    ),
    (
        "/diff",
        "[last]",
        "show what changed since the chat began, or in the last turn",
    ),
    ("/undo", "", "restore the files as before the last turn"),
    (
        "/task",
        "[TEXT]",
        "add a task to the queue, with this conversation as its description",
    ),
    ("/new", "", "start another conversation"),
    ("/list", "", "list the conversations in this directory"),
    ("/quit", "", "leave (or press Ctrl-D)"),
];

/// Parses a line. `//` at the start sends a prompt that starts with a slash.
pub(super) fn parse(line: &str) -> ChatLine {
    let line = line.trim();
    if line.is_empty() {
        return ChatLine::Empty;
    }
    if let Some(prompt) = line.strip_prefix('/').filter(|rest| rest.starts_with('/')) {
        return ChatLine::Prompt(prompt.to_owned());
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let name = word.strip_prefix('/').filter(|name| is_name(name));
    let Some(name) = name else {
        return ChatLine::Prompt(line.to_owned());
    };
    let rest = rest.trim();
    let argument = (!rest.is_empty()).then(|| rest.to_owned());
    let without_argument = |command| match &argument {
        None => ChatLine::Command(command),
        Some(_) => ChatLine::Invalid(format!("/{name} takes no argument")),
    };
    match name {
        "help" => without_argument(ChatCommand::Help),
        "agent" => ChatLine::Command(ChatCommand::Agent(argument)),
        "model" => ChatLine::Command(ChatCommand::Model(argument)),
        "diff" => match rest {
            "" => ChatLine::Command(ChatCommand::Diff(DiffRange::Conversation)),
            "last" => ChatLine::Command(ChatCommand::Diff(DiffRange::LastTurn)),
            _ => ChatLine::Invalid("/diff takes no argument, or: last".to_owned()),
        },
        "undo" => without_argument(ChatCommand::Undo),
        "task" => ChatLine::Command(ChatCommand::Task(rest.to_owned())),
        "new" => without_argument(ChatCommand::New),
        "list" => without_argument(ChatCommand::List),
        "quit" | "exit" => without_argument(ChatCommand::Quit),
        _ => ChatLine::Invalid(format!(
            "no command /{name}: /help lists them, and //{name} sends it to the agent"
        )),
    }
}

/// Returns `true` if a word is the name of a command and not a path.
fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str) -> ChatLine {
        ChatLine::Prompt(text.to_owned())
    }

    #[test]
    fn prompts_and_commands_are_distinguished() {
        assert_eq!(parse("  \n"), ChatLine::Empty);
        assert_eq!(parse(" Fix it "), prompt("Fix it"));
        assert_eq!(parse("/etc/hosts is wrong"), prompt("/etc/hosts is wrong"));
        assert_eq!(parse("/ or"), prompt("/ or"));
        assert_eq!(parse("//compact now"), prompt("/compact now"));
        assert_eq!(parse("/quit"), ChatLine::Command(ChatCommand::Quit));
        assert_eq!(parse("/exit"), ChatLine::Command(ChatCommand::Quit));
        assert_eq!(parse("/agent"), ChatLine::Command(ChatCommand::Agent(None)));
        assert_eq!(
            parse("/agent  codex/gpt-5 "),
            ChatLine::Command(ChatCommand::Agent(Some("codex/gpt-5".to_owned())))
        );
        assert_eq!(
            parse("/task Add a test\nand run it"),
            ChatLine::Command(ChatCommand::Task("Add a test\nand run it".to_owned()))
        );
        assert_eq!(
            parse("/diff last"),
            ChatLine::Command(ChatCommand::Diff(DiffRange::LastTurn))
        );
        for invalid in ["/undo all", "/diff x", "/compact"] {
            assert!(matches!(parse(invalid), ChatLine::Invalid(_)), "{invalid}");
        }
    }

    #[test]
    fn every_listed_command_is_parsed() {
        for (name, _, _) in COMMANDS {
            assert!(matches!(parse(name), ChatLine::Command(_)), "{name}");
        }
    }
}
