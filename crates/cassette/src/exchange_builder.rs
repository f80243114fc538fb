//! Builds an exchange while its response arrives.

use std::time::Duration;

use serde_json::Value;

use crate::{Chunk, Exchange};

/// The response headers that affect an agent's behavior.
const HEADERS: [&str; 2] = ["content-type", "retry-after"];

/// A request whose response is still arriving.
#[derive(Debug)]
pub struct ExchangeBuilder {
    exchange: Exchange,
    /// The start of a character that the next bytes complete.
    rest: Vec<u8>,
}

impl ExchangeBuilder {
    /// Starts with the request. `dialect` is the name of the model API, or empty.
    pub fn new(dialect: &str, method: &str, path: &str, body: &[u8]) -> Self {
        Self {
            exchange: Exchange {
                dialect: dialect.to_owned(),
                method: method.to_owned(),
                path: path.to_owned(),
                body: request_body(body),
                status: 0,
                headers: Default::default(),
                chunks: Vec::new(),
                cut: None,
            },
            rest: Vec::new(),
        }
    }

    /// Adds the start of the response. Of its headers, with names in lower case, those are kept that affect an agent.
    pub fn start<'a>(
        &mut self,
        status: u16,
        headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) {
        self.exchange.status = status;
        for (name, value) in headers {
            if HEADERS.contains(&name)
                && let Ok(value) = std::str::from_utf8(value)
            {
                let headers = &mut self.exchange.headers;
                headers.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// Adds bytes of the response. They may end inside of a character.
    pub fn push(&mut self, at: Duration, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let end = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let text = String::from_utf8_lossy(&self.rest[..end]).into_owned();
        self.rest.drain(..end);
        if !text.is_empty() {
            self.exchange.chunks.push(Chunk { at, text });
        }
    }

    /// Returns the exchange. `cut` is when the response was interrupted, if it was.
    pub fn finish(self, cut: Option<Duration>) -> Exchange {
        Exchange {
            cut,
            ..self.exchange
        }
    }
}

/// Returns the body as JSON, or as a JSON string if it is none.
fn request_body(body: &[u8]) -> Value {
    match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(_) if body.is_empty() => Value::Null,
        Err(_) => Value::String(String::from_utf8_lossy(body).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_may_be_split_between_chunks() {
        let text = "žluťoučký kůň";
        for split in 1..text.len() {
            let mut builder = ExchangeBuilder::new("chat", "POST", "/v1", b"{}");
            let headers = [("content-type", &b"text/plain"[..]), ("x-own", &b"1"[..])];
            builder.start(200, headers);
            let (first, second) = text.as_bytes().split_at(split);
            builder.push(Duration::ZERO, first);
            builder.push(Duration::ZERO, second);
            let exchange = builder.finish(None);
            let chunks = exchange.chunks.iter().map(|chunk| chunk.text.as_str());
            assert_eq!(chunks.collect::<String>(), text);
            assert_eq!(exchange.headers.len(), 1);
        }
    }

    #[test]
    fn request_without_json_is_kept_as_text() {
        let body = |bytes: &[u8]| {
            ExchangeBuilder::new("", "GET", "/", bytes)
                .finish(None)
                .body
        };
        assert_eq!(body(b""), Value::Null);
        assert_eq!(body(b"plain"), Value::from("plain"));
        assert_eq!(body(b"[1]"), serde_json::json!([1]));
    }
}
