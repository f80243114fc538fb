//! What may be called what: names of agents and of environment variables.

/// The rule for an agent's name, in words.
pub(super) const AGENT_RULE: &str =
    "1 to 64 letters, digits, `-`, `_` or `.`, a letter or digit first";

/// The rule for an alias, in words: it is what a client calls a model.
pub(super) const ALIAS_RULE: &str =
    "1 to 128 letters, digits, `-`, `_`, `.`, `:` or `/`, a letter or digit first";

/// The rule for a variable's name, in words.
pub(super) const VARIABLE_RULE: &str = "letters, digits and `_`, no digit first";

/// Whether the text can name an agent; such a name is safe as a file name, an argument and on a terminal.
pub(super) fn is_agent(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(inner)
}

/// Whether the text can be what a client calls a model.
pub(super) fn is_alias(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    text.len() <= 128
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(inner)
}

/// Whether the text can say who is to work: an agent, an agent with a model of its own, or a composite.
pub(super) fn is_worker(text: &str) -> bool {
    match text.split_once('/') {
        None => is_agent(text),
        Some((agent, rest)) => {
            let odd = |c: char| c.is_whitespace() || c.is_control();
            is_agent(agent) && !rest.is_empty() && rest.len() <= 256 && !rest.contains(odd)
        }
    }
}

/// Whether the text can name an environment variable.
pub(super) fn is_variable(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.starts_with(|c: char| c.is_ascii_digit()) && !text.is_empty() && text.chars().all(inner)
}

/// Whether the text can name the variable of a secret: no small letters, which nearly every key itself has.
pub(super) fn is_secret_variable(text: &str) -> bool {
    is_variable(text) && !text.contains(|c: char| c.is_ascii_lowercase())
}

/// Whether an agent's name and its spelling in an environment variable mean the same.
pub(super) fn same_in_environment(name: &str, spelled: &str) -> bool {
    let fold = |text: &str| text.to_ascii_lowercase().replace(['-', '.'], "_");
    fold(name) == fold(spelled)
}
