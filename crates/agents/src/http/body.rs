//! An answer on its way in: never without a limit on its size or on a silence.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use reqwest::header::CONTENT_TYPE;
use windlass_core::Clock;
use windlass_wire::{ErrorKind, ModelError};

use super::HttpLimits;
use super::client::idle_timeout_error;

/// The body of a good answer, as it comes.
#[derive(Debug)]
pub struct ResponseBody {
    response: reqwest::Response,
    clock: Arc<dyn Clock>,
    limits: HttpLimits,
    read: u64,
}

impl ResponseBody {
    pub(super) fn new(
        response: reqwest::Response,
        clock: Arc<dyn Clock>,
        limits: HttpLimits,
    ) -> Self {
        Self {
            response,
            clock,
            limits,
            read: 0,
        }
    }

    /// Whether the server says that this is one JSON document, whatever was asked for.
    pub fn is_json(&self) -> bool {
        let kind = self.response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        kind.trim_start()
            .to_ascii_lowercase()
            .starts_with("application/json")
    }

    /// The next bytes; nothing at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        let limit = self.limits.silence;
        let chunk = tokio::select! {
            chunk = self.response.chunk() => chunk,
            () = self.clock.sleep(limit) => return Err(idle_timeout_error("the rest of the answer", limit)),
        };
        let chunk = chunk.map_err(|_| {
            ModelError::new(
                ErrorKind::Interrupted,
                "the connection broke before the answer was complete",
            )
        })?;
        self.read += chunk.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if self.read > self.limits.answer_bytes {
            let most = self.limits.answer_bytes;
            let problem = format!("the answer is longer than {most} bytes");
            return Err(ModelError::new(ErrorKind::TooLarge, problem));
        }
        Ok(chunk)
    }

    /// All of it.
    pub async fn read_all(mut self) -> Result<Bytes, ModelError> {
        let mut body = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    /// The beginning of it, for a message; what is missing is not missed.
    pub(super) async fn read_prefix(mut self, most: usize) -> Bytes {
        let mut body = BytesMut::new();
        while let Ok(Some(chunk)) = self.chunk().await {
            let room = most.saturating_sub(body.len());
            body.extend_from_slice(&chunk[..room.min(chunk.len())]);
            if body.len() >= most {
                break;
            }
        }
        body.freeze()
    }
}
