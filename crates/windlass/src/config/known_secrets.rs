//! The secrets that the configuration, the environment and the project's `.env` contain, for masking.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::Config;

/// Words in the name of a variable that contains a secret.
const SECRET_WORDS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

impl Config {
    /// Returns all known secrets with their names: the values of secret keys such as `extra_env`, the passwords of
    /// URLs, the variables that a setting names as holding a key, and variables of the environment and of `.env`,
    /// trusted or not, with a name that looks like a secret.
    pub fn known_secrets(&self) -> Vec<(String, SecretString)> {
        let mut known = Vec::new();
        let mut key_variables = Vec::new();
        for (key, setting) in self.layers.settings.iter() {
            let mut texts = Vec::new();
            strings(&setting.value, &mut texts);
            if setting.known.kind.names_secrets() {
                key_variables.extend(texts.iter().copied());
            }
            if setting.known.secret {
                known.extend(texts.iter().map(|text| (key.last().to_owned(), *text)));
            } else {
                let passwords = texts.iter().filter_map(|text| url_password(text));
                known.extend(passwords.map(|password| (key.last().to_owned(), password)));
            }
        }
        let mut known: Vec<(String, SecretString)> = known
            .into_iter()
            .map(|(name, secret)| (name, SecretString::from(secret)))
            .collect();
        let variables = self.layers.secrets.iter().chain(&self.layers.dot_env);
        for (name, value) in variables {
            if is_secret_name(name) || key_variables.contains(&name.as_str()) {
                known.push((name.clone(), value.clone()));
            } else if let Some(password) = url_password(value.expose_secret()) {
                known.push((name.clone(), SecretString::from(password)));
            }
        }
        known
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // Not `GIT_AUTHOR_NAME`.
    let has_auth = name.split('_').any(|part| part == "AUTH");
    has_auth || SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Collects all strings of a value.
pub(super) fn strings<'a>(value: &'a Value, all: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => all.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, all)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, all)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the password of a URL such as `postgres://user:password@host`.
fn url_password(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let (user, _) = rest.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    Some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_secret_names_are_recognized() {
        assert_eq!(
            url_password("postgres://ann:p@ss:w@host/db"),
            Some("p@ss:w")
        );
        assert_eq!(url_password("https://host/a@b"), None);
        assert_eq!(url_password("ann:pw@host"), None);
        for name in [
            "OPENAI_API_KEY",
            "github_token",
            "PGPASSWORD",
            "npm_config__auth",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["PATH", "HOME", "GIT_AUTHOR_NAME"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
