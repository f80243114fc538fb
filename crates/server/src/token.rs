//! The server's own token, and secrets in general. Only hashes of them are stored.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use windlass_core::{ExposeSecret, SecretString};

/// The maximum length of a token or a cookie.
const MAX_BYTES: usize = 256;
const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";
/// The start of a token in the store, by which people and programs recognize one.
const PREFIX: &str = "wl_";

/// The server's own token, which allows everything.
#[derive(Clone)]
pub struct Token {
    hash: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

impl Token {
    /// Creates a token from a text. An empty one never matches.
    pub fn new(text: &SecretString) -> Self {
        Self {
            hash: hash(text.expose_secret()),
        }
    }

    /// Generates a token of 256 random bits from the system, as 64 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random source.
    pub fn generate() -> io::Result<SecretString> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(SecretString::from(hex(&bytes)))
    }

    /// Generates the secret of a token for the store, and its hash.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random source.
    pub fn generate_for_store() -> io::Result<(SecretString, String)> {
        let text = format!("{PREFIX}{}", Self::generate()?.expose_secret());
        let hash = hash(&text);
        Ok((SecretString::from(text), hash))
    }

    /// Returns `true` if this is the hash of the token.
    pub(crate) fn has_hash(&self, hash: &str) -> bool {
        hash.as_bytes().ct_eq(self.hash.as_bytes()).into()
    }

    /// Returns the SHA-256 of the token.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }
}

/// Returns the hash of a secret that a client sent, unless it is empty or too long.
pub(crate) fn secret_hash(given: &str) -> Option<String> {
    (!given.is_empty() && given.len() <= MAX_BYTES).then(|| hash(given))
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from(HEX_DIGITS[usize::from(digit)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p22_only_the_token_matches() {
        let text = Token::generate().unwrap();
        let token = Token::new(&text);
        let text = text.expose_secret();
        assert_eq!(text.len(), 64);
        let matches =
            |token: &Token, text: &str| secret_hash(text).is_some_and(|hash| token.has_hash(&hash));
        assert!(matches(&token, text));
        for other in ["", &text[1..], token.hash(), "' OR 1=1", &text.repeat(1000)] {
            assert!(!matches(&token, other), "{other}");
        }
        assert!(!format!("{token:?}").contains(text));
        assert_ne!(Token::generate().unwrap().expose_secret(), text);
        assert!(!matches(
            &Token::new(&SecretString::from(String::new())),
            ""
        ));
    }

    #[test]
    fn token_for_the_store_has_a_prefix() {
        let (text, hash) = Token::generate_for_store().unwrap();
        let text = text.expose_secret();
        assert!(
            text.starts_with("wl_") && text.len() == 67,
            "{}",
            text.len()
        );
        assert_eq!(secret_hash(text), Some(hash));
    }
}
