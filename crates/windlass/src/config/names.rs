//! Rules for the names of agents, aliases and environment variables.

/// The rule for an agent's name, for error messages.
pub(super) const AGENT_RULE: &str =
    "1 to 64 letters, digits, `-`, `_` or `.`, a letter or digit first";

/// The rule for an alias, for error messages. An alias is the model name that a client requests.
pub(super) const ALIAS_RULE: &str =
    "1 to 128 letters, digits, `-`, `_`, `.`, `:` or `/`, a letter or digit first";

/// The rule for a variable's name, for error messages.
pub(super) const VARIABLE_RULE: &str = "letters, digits and `_`, no digit first";

/// Returns `true` if the text is a valid agent name. Such a name is safe as a file name, as an argument and on a
/// terminal.
pub(super) fn is_agent(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(inner)
}

/// Returns `true` if the text is a valid alias.
pub(super) fn is_alias(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    text.len() <= 128
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(inner)
}

/// Returns `true` if the text is a valid reference to an agent, an agent with a model, or a composite.
pub(super) fn is_worker(text: &str) -> bool {
    match text.split_once('/') {
        None => is_agent(text),
        Some((agent, rest)) => {
            let invalid = |c: char| c.is_whitespace() || c.is_control();
            is_agent(agent) && !rest.is_empty() && rest.len() <= 256 && !rest.contains(invalid)
        }
    }
}

/// Returns `true` if the text is a valid name of an environment variable.
pub(super) fn is_variable(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.starts_with(|c: char| c.is_ascii_digit()) && !text.is_empty() && text.chars().all(inner)
}

/// Returns `true` if the text is a valid name of a variable for a secret. It has no lower-case letters, which nearly
/// every secret itself has.
pub(super) fn is_secret_variable(text: &str) -> bool {
    is_variable(text) && !text.contains(|c: char| c.is_ascii_lowercase())
}

/// Returns `true` if an agent's name equals a name from an environment variable.
pub(super) fn same_in_environment(name: &str, spelled: &str) -> bool {
    let fold = |text: &str| text.to_ascii_lowercase().replace(['-', '.'], "_");
    fold(name) == fold(spelled)
}
