//! API keys and the request headers that carry them.

use std::fmt;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use windlass_core::{ExposeSecret, SecretString};
use windlass_wire::Dialect;

/// The version of Anthropic's API that `wire` implements.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// Shorter keys are not redacted: they are not secrets, and replacing them would damage ordinary text.
const MIN_SECRET_CHARS: usize = 6;

/// An optional key of a model API.
#[derive(Clone, Default)]
pub struct ApiKey(Option<SecretString>);

impl ApiKey {
    /// Creates a key; `None` means that requests are sent without one.
    pub fn new(secret: Option<SecretString>) -> Self {
        Self(secret)
    }

    pub(crate) fn secret(&self) -> Option<&SecretString> {
        self.0.as_ref()
    }

    /// Returns the headers that the API requires. Fails if the key contains characters that are invalid in a header.
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
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            "the key contains characters that are not allowed in a header".to_owned()
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }

    /// Returns the bytes without the key, or `None` if they do not contain it.
    pub fn redact_bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let secret = self.0.as_ref()?.expose_secret();
        let is_found = secret.len() >= MIN_SECRET_CHARS
            && memchr::memmem::find(bytes, secret.as_bytes()).is_some();
        is_found.then(|| {
            let text = String::from_utf8_lossy(bytes);
            text.replace(secret, "[key]").into_bytes()
        })
    }

    /// Replaces the key in `text`, because a provider may echo it.
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
            "ApiKey(hidden)"
        } else {
            "ApiKey(none)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p19_key_is_absent_from_debug_output_and_redacted_text() {
        let key = ApiKey::new(Some(SecretString::from("canary-key")));
        for dialect in Dialect::ALL {
            let shown = format!("{key:?} {:?}", key.headers(dialect).unwrap());
            assert!(!shown.contains("canary"), "{shown}");
        }
        let redacted = key.redact("bad key: canary-key!".to_owned());
        assert_eq!(redacted, "bad key: [key]!");
    }

    #[test]
    fn each_dialect_has_its_own_key_header_and_missing_key_sends_none() {
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
