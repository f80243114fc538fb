//! The token that opens the server, and the cookie that stands for it in a browser.
//!
//! Only hashes are kept, and compared in a time that says nothing about them. The cookie is made from the token, so that it
//! outlives a restart of the server; whoever sees a cookie does not know the token.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use windlass_core::{ExposeSecret, SecretString};

/// No token and no cookie is longer.
const MAX_BYTES: usize = 256;

/// What a caller must know.
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
    /// The token of this text; an empty one opens nothing.
    pub fn new(text: &SecretString) -> Self {
        let text = text.expose_secret();
        Self {
            token: hash(text),
            cookie: hash(&cookie(text)),
        }
    }

    /// A new one of 256 bits from the system's source of chance, as 64 letters.
    ///
    /// # Errors
    ///
    /// Where the system has no such source.
    pub fn generate() -> io::Result<SecretString> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(SecretString::from(hex(&bytes)))
    }

    /// Whether this is the token.
    pub(crate) fn matches(&self, given: &str) -> bool {
        hash_matches(given) && bool::from(hash(given).ct_eq(&self.token))
    }

    /// Whether this is the cookie that stands for it.
    pub(crate) fn matches_cookie(&self, given: &str) -> bool {
        hash_matches(given) && bool::from(hash(given).ct_eq(&self.cookie))
    }
}

/// The cookie's value for a token.
pub(crate) fn cookie(token: &str) -> String {
    hex(&hash(&format!("windlass cookie {token}")))
}

fn hash_matches(given: &str) -> bool {
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
    fn p22_only_the_token_itself_opens() {
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
