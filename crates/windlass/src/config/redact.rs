//! Formats values for display: secrets are redacted and terminal control characters escaped.
//!
//! Redaction is complete: neither the length of a secret nor its first letters are shown.

use serde_json::Value;
use windlass_core::escape_json;

/// The replacement for a secret.
pub(super) const REDACTED: &str = "[redacted]";

/// Formats a value as one line of text.
pub(super) fn display_value(value: &Value, secret: bool) -> String {
    if secret {
        return REDACTED.to_owned();
    }
    escape_json(&without_passwords(value).to_string()).into_owned()
}

/// Redacts the passwords of all URLs in a value.
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

/// Redacts `user:password@` and secret query values of every URL in a text.
pub(super) fn redact_url(text: &str) -> String {
    text.split_inclusive(char::is_whitespace)
        .map(word_without_password)
        .collect()
}

/// Redacts one word of the text; only a word that contains `://` can be a URL.
///
/// The user part ends at the *last* `@`: an unescaped `/` or `@` in a password violates the standard but is common,
/// and redacting too much does no harm.
fn word_without_password(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else {
        return word.to_owned();
    };
    let (base, query) = match rest.split_once('?') {
        Some((base, query)) if !query.contains('@') => (base, Some(query)),
        _ => (rest, None),
    };
    let base = match base.rsplit_once('@') {
        Some((_, host)) => format!("{REDACTED}@{host}"),
        None => base.to_owned(),
    };
    let query = query.map(|query| format!("?{}", query_without_secrets(query)));
    format!("{scheme}://{base}{}", query.unwrap_or_default())
}

/// Redacts the values of query parameters with a name that suggests a secret.
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
    fn p19_passwords_in_urls_are_redacted() {
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
