//! The server's token, and the cookie that represents it in a browser.
//!
//! Only hashes are stored, and they are compared in constant time. The cookie is derived from the token, so
//! that it survives a restart of the server; the token cannot be derived from a cookie.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use windlass_core::{ExposeSecret, SecretString};

/// The maximum length of a token or a cookie.
const MAX_BYTES: usize = 256;

/// The secret that a client must send.
#[derive(Clone)]
pub struct Token {
    token: [u8; 32],
    cookie: [u8; 32],
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

impl Token {
    /// Creates a token from a text. An empty one never matches.
    pub fn new(text: &SecretString) -> Self {
        let text = text.expose_secret();
        Self {
            token: hash(text),
            cookie: hash(&cookie(text)),
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

    /// Returns `true` if this is the token.
    pub(crate) fn matches(&self, given: &str) -> bool {
        is_valid_length(given) && bool::from(hash(given).ct_eq(&self.token))
    }

    /// Returns `true` if this is the cookie for the token.
    pub(crate) fn matches_cookie(&self, given: &str) -> bool {
        is_valid_length(given) && bool::from(hash(given).ct_eq(&self.cookie))
    }
}

/// Returns the cookie's value for a token.
pub(crate) fn cookie(token: &str) -> String {
    hex(&hash(&format!("windlass cookie {token}")))
}

fn is_valid_length(given: &str) -> bool {
    !given.is_empty() && given.len() <= MAX_BYTES
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
        assert!(token.matches(text));
        assert!(token.matches_cookie(&cookie(text)));
        for other in [
            "",
            &text[1..],
            &text.to_uppercase(),
            &cookie(text),
            "' OR 1=1",
        ] {
            let same = other == text;
            assert_eq!(token.matches(other), same, "{other}");
        }
        assert!(!token.matches_cookie(text));
        assert!(!token.matches(&text.repeat(1000)));
        assert!(!format!("{token:?}").contains(text));
        assert_ne!(Token::generate().unwrap().expose_secret(), text);
        assert!(!Token::new(&SecretString::from(String::new())).matches(""));
    }
}
