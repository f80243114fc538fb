//! A response body that is being streamed, with a size limit and an idle timeout.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use reqwest::header::CONTENT_TYPE;
use windlass_core::Clock;
use windlass_wire::{ErrorKind, ModelError};

use super::limits::{HttpLimits, idle_timeout_error};

/// The size from which a read takes no further chunk.
const MAX_READ_BYTES: usize = 16 << 10;

/// The body of a successful response, read in chunks.
#[derive(Debug)]
pub struct ResponseBody {
    response: reqwest::Response,
    clock: Arc<dyn Clock>,
    limits: HttpLimits,
    read: u64,
    /// The end or the error that follows the bytes that were returned last.
    end: Option<Result<Option<Bytes>, ModelError>>,
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
            end: None,
        }
    }

    /// Returns `true` if the server declares the body as one JSON document, even if a stream was requested.
    pub fn is_json(&self) -> bool {
        let kind = self.response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        kind.trim_start()
            .to_ascii_lowercase()
            .starts_with("application/json")
    }

    /// Returns the next bytes, or `None` at the end of the body. Chunks that have already arrived are returned together: what
    /// is done with them costs as much for one as for all.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        if let Some(end) = self.end.take() {
            return end;
        }
        let Some(mut bytes) = self.next_chunk().await? else {
            return Ok(None);
        };
        while bytes.len() < MAX_READ_BYTES {
            // The connection has a task of its own, which passes on one chunk at a time.
            tokio::task::yield_now().await;
            let Some(chunk) = self.response.chunk().now_or_never() else {
                break;
            };
            match self.count(chunk) {
                Ok(Some(chunk)) => {
                    let mut joined = BytesMut::from(bytes);
                    joined.extend_from_slice(&chunk);
                    bytes = joined.freeze();
                }
                end => {
                    self.end = Some(end);
                    break;
                }
            }
        }
        Ok(Some(bytes))
    }

    /// Waits for the next chunk.
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        let limit = self.limits.idle_timeout;
        let chunk = tokio::select! {
            biased;
            chunk = self.response.chunk() => chunk,
            () = self.clock.sleep(limit) => return Err(idle_timeout_error("the rest of the response", limit)),
        };
        self.count(chunk)
    }

    /// Counts the bytes of a chunk, and fails if there are too many.
    fn count(
        &mut self,
        chunk: reqwest::Result<Option<Bytes>>,
    ) -> Result<Option<Bytes>, ModelError> {
        let chunk = chunk.map_err(|_| {
            ModelError::new(
                ErrorKind::Interrupted,
                "the connection closed before the response was complete",
            )
        })?;
        self.read += chunk.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if self.read > self.limits.max_response_bytes {
            let max = self.limits.max_response_bytes;
            let problem = format!("the response is longer than {max} bytes");
            return Err(ModelError::new(ErrorKind::TooLarge, problem));
        }
        Ok(chunk)
    }

    /// Reads the whole body.
    pub async fn read_all(mut self) -> Result<Bytes, ModelError> {
        let Some(first) = self.next_chunk().await? else {
            return Ok(Bytes::new());
        };
        let Some(second) = self.next_chunk().await? else {
            return Ok(first);
        };
        let mut body = BytesMut::from(first);
        body.extend_from_slice(&second);
        while let Some(chunk) = self.next_chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    /// Reads at most `max` bytes, for an error message. A read error ends the prefix and is ignored.
    pub(super) async fn read_prefix(mut self, max: usize) -> Bytes {
        let mut body = BytesMut::new();
        while let Ok(Some(chunk)) = self.next_chunk().await {
            let remaining = max.saturating_sub(body.len());
            body.extend_from_slice(&chunk[..remaining.min(chunk.len())]);
            if body.len() >= max {
                break;
            }
        }
        body.freeze()
    }
}
