//! How values are shown to a person: secrets left out, nothing that could steer a terminal.
//!
//! Redaction is unconditional: not the length of a secret and not its first letters are shown.

use serde_json::Value;
use windlass_core::escape_json;

/// What stands in place of a secret.
pub(super) const REDACTED: &str = "[redacted]";

/// A value as one line of text.
pub(super) fn display_value(value: &Value, secret: bool) -> String {
    if secret {
        return REDACTED.to_owned();
    }
    escape_json(&without_passwords(value).to_string()).into_owned()
}

/// The value with the passwords of all URLs in it left out.
fn without_passwords(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact_url(text)),
        Value::Array(items) => items.iter().map(without_passwords).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (redact_url(name), without_passwords(field)))
            .collect(),
        other => other.clone(),
    }
}

/// The text with `user:password@` and the telling query values of every URL in it left out.
pub(super) fn redact_url(text: &str) -> String {
    text.split_inclusive(char::is_whitespace)
        .map(word_without_password)
        .collect()
}

/// One word of the text; only a word with `://` in it can be a URL.
///
/// The user's part ends at the *last* `@`: a raw `/` or `@` in a password is against the standard but common,
/// and leaving out too much harms nobody.
fn word_without_password(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else {
        return word.to_owned();
    };
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) if !query.contains('@') => (place, Some(query)),
        _ => (rest, None),
    };
    let place = match place.rsplit_once('@') {
        Some((_, host)) => format!("{REDACTED}@{host}"),
        None => place.to_owned(),
    };
    let query = query.map(|query| format!("?{}", query_without_secrets(query)));
    format!("{scheme}://{place}{}", query.unwrap_or_default())
}

/// The query with the values of parameters that sound like a secret left out.
fn query_without_secrets(query: &str) -> String {
    const SECRET_PARAMS: [&str; 6] = ["key", "token", "secret", "pass", "sig", "auth"];
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, _))
                if SECRET_PARAMS
                    .iter()
                    .any(|word| name.to_lowercase().contains(word)) =>
            {
                format!("{name}={REDACTED}")
            }
            _ => pair.to_owned(),
        })
        .collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p19_passwords_in_urls_are_left_out() {
        for (text, shown) in [
            (
                "sqlite:.windlass/windlass.db",
                "sqlite:.windlass/windlass.db",
            ),
            ("postgres://ann:pw@host/db", "postgres://[redacted]@host/db"),
            (
                "postgres://ann:p/w@x@host/db",
                "postgres://[redacted]@host/db",
            ),
            ("https://token@host", "https://[redacted]@host"),
            (
                "postgres://ann:p?w@host/db",
                "postgres://[redacted]@host/db",
            ),
            (
                "https://h/v1?api_key=abc&v=1",
                "https://h/v1?api_key=[redacted]&v=1",
            ),
            ("--url=http://a:b@h --x", "--url=http://[redacted]@h --x"),
            ("user@example.org", "user@example.org"),
        ] {
            assert_eq!(redact_url(text), shown);
        }
    }
}
