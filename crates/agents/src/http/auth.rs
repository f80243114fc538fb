//! The one place that turns a key into a header.

use std::fmt;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use windlass_core::{ExposeSecret, SecretString};
use windlass_wire::Dialect;

/// The version of Anthropic's API whose words `wire` speaks.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// A key shorter than this is no secret, and hiding it would tear words apart.
const MIN_SECRET_CHARS: usize = 6;

/// The key to a model API, or the lack of one.
#[derive(Clone, Default)]
pub struct ApiKey(Option<SecretString>);

impl ApiKey {
    /// This key.
    pub fn new(secret: Option<SecretString>) -> Self {
        Self(secret)
    }

    /// The headers with which an API wants to be asked. The error says that the key cannot be one.
    pub(super) fn headers(&self, dialect: Dialect) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        if dialect == Dialect::Messages {
            let version = HeaderValue::from_static(ANTHROPIC_VERSION);
            headers.insert("anthropic-version", version);
        }
        let Some(secret) = &self.0 else {
            return Ok(headers);
        };
        let (name, value) = match dialect {
            Dialect::Messages => (
                HeaderName::from_static("x-api-key"),
                secret.expose_secret().to_owned(),
            ),
            Dialect::Gemini => (
                HeaderName::from_static("x-goog-api-key"),
                secret.expose_secret().to_owned(),
            ),
            _ => (AUTHORIZATION, format!("Bearer {}", secret.expose_secret())),
        };
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| "the key has characters that no header can carry".to_owned())?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }

    /// The text without the key: a provider may say it back.
    pub fn redact(&self, text: String) -> String {
        match &self.0 {
            Some(secret) if secret.expose_secret().len() >= MIN_SECRET_CHARS => {
                text.replace(secret.expose_secret(), "[key]")
            }
            _ => text,
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Key(hidden)"
        } else {
            "Key(none)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p19_no_view_of_a_key_shows_it() {
        let key = ApiKey::new(Some(SecretString::from("canary-key")));
        for dialect in Dialect::ALL {
            let shown = format!("{key:?} {:?}", key.headers(dialect).unwrap());
            assert!(!shown.contains("canary"), "{shown}");
        }
        let said = key.redact("bad key: canary-key!".to_owned());
        assert_eq!(said, "bad key: [key]!");
    }

    #[test]
    fn each_api_gets_its_own_header_and_no_key_gives_none() {
        let key = ApiKey::new(Some(SecretString::from("k")));
        let names = |key: &ApiKey, dialect| {
            let headers = key.headers(dialect).unwrap();
            headers
                .keys()
                .map(|name| name.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&key, Dialect::Chat), ["authorization"]);
        assert_eq!(names(&key, Dialect::Ollama), ["authorization"]);
        assert_eq!(
            names(&key, Dialect::Messages),
            ["anthropic-version", "x-api-key"]
        );
        assert_eq!(
            names(&ApiKey::default(), Dialect::Messages),
            ["anthropic-version"]
        );
        let bad = ApiKey::new(Some(SecretString::from("a\nb")));
        assert!(bad.headers(Dialect::Chat).is_err());
    }
}
