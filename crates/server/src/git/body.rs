//! The body of a request as a stream: decompressed, and within limits of size and time.

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::StatusCode;
use bytes::Bytes;
use flate2::write::GzDecoder;
use futures::StreamExt;

use super::GitRequestBody;
use crate::error::ApiError;

/// How much is decompressed in one step. Its output is at most about a thousand times as large.
const PIECE: usize = 1 << 10;

/// Why a body ended early.
#[derive(Debug, Clone, Default)]
pub(super) struct BodyProblem(Arc<OnceLock<ApiError>>);

impl BodyProblem {
    /// Returns the error, if there is one.
    pub(super) fn check(&self) -> Result<(), ApiError> {
        self.0.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    fn set(&self, error: ApiError) -> io::Error {
        io::Error::other(self.0.get_or_init(|| error).code())
    }
}

/// Limits of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    /// The maximum size, after it was decompressed.
    pub(super) bytes: u64,
    /// How long the next part may take to arrive.
    pub(super) pause: Duration,
}

/// A body that is being read.
struct Reading {
    body: BodyDataStream,
    gzip: Option<GzDecoder<Vec<u8>>>,
    /// What has arrived and is not decompressed yet.
    waiting: Bytes,
    count: u64,
    limits: BodyLimits,
    problem: BodyProblem,
}

/// Returns the content of a body. An error is the last item, and is noted in the returned value.
pub(super) fn content(
    body: Body,
    is_gzip: bool,
    limits: BodyLimits,
) -> (GitRequestBody, BodyProblem) {
    let problem = BodyProblem::default();
    let reading = Reading {
        body: body.into_data_stream(),
        gzip: is_gzip.then(|| GzDecoder::new(Vec::new())),
        waiting: Bytes::new(),
        count: 0,
        limits,
        problem: problem.clone(),
    };
    let parts = futures::stream::unfold(Some(reading), async |reading| {
        let mut reading = reading?;
        match reading.next().await {
            Ok(None) => None,
            Ok(Some(part)) => Some((Ok(part), Some(reading))),
            Err(error) => Some((Err(reading.problem.set(error)), None)),
        }
    });
    (parts.boxed(), problem)
}

impl Reading {
    async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        loop {
            if self.waiting.is_empty() {
                match self.receive().await? {
                    Some(bytes) => self.waiting = bytes,
                    None => return self.finish(),
                }
            }
            let part = match &mut self.gzip {
                None => std::mem::take(&mut self.waiting),
                Some(gzip) => {
                    let piece = self.waiting.split_to(PIECE.min(self.waiting.len()));
                    gzip.write_all(&piece).map_err(|_| not_gzip())?;
                    Bytes::from(std::mem::take(gzip.get_mut()))
                }
            };
            self.count += part.len() as u64;
            if self.count > self.limits.bytes {
                let limit = self.limits.bytes;
                let message = format!(
                    "the body is larger than {limit} bytes: push or fetch in several steps"
                );
                return Err(ApiError::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "too_large",
                    message,
                ));
            }
            if !part.is_empty() {
                return Ok(Some(part));
            }
        }
    }

    async fn receive(&mut self) -> Result<Option<Bytes>, ApiError> {
        match tokio::time::timeout(self.limits.pause, self.body.next()).await {
            Ok(None) => Ok(None),
            Ok(Some(Ok(bytes))) => Ok(Some(bytes)),
            Ok(Some(Err(error))) => Err(ApiError::new(
                StatusCode::BAD_REQUEST,
                "broken_body",
                "the body is incomplete",
            )
            .with_cause(error)),
            Err(_) => Err(ApiError::new(
                StatusCode::REQUEST_TIMEOUT,
                "slow_body",
                "timed out while reading the body",
            )),
        }
    }

    /// Checks that the compressed data is complete, and returns what is left.
    fn finish(&mut self) -> Result<Option<Bytes>, ApiError> {
        let Some(mut gzip) = self.gzip.take() else {
            return Ok(None);
        };
        gzip.try_finish().map_err(|_| not_gzip())?;
        let rest = Bytes::from(std::mem::take(gzip.get_mut()));
        Ok((!rest.is_empty()).then_some(rest))
    }
}

fn not_gzip() -> ApiError {
    ApiError::bad_request("the body is not valid gzip")
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const LIMITS: BodyLimits = BodyLimits {
        bytes: 100_000,
        pause: Duration::from_secs(1),
    };

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    async fn read(body: Vec<u8>, is_gzip: bool) -> Result<Vec<u8>, String> {
        let (mut parts, problem) = content(Body::from(body), is_gzip, LIMITS);
        let mut all = Vec::new();
        while let Some(part) = parts.next().await {
            match part {
                Ok(part) => all.extend_from_slice(&part),
                Err(error) => {
                    assert!(problem.check().is_err());
                    return Err(error.to_string());
                }
            }
        }
        problem.check().map_err(|error| error.code().to_owned())?;
        Ok(all)
    }

    #[tokio::test]
    async fn bodies_are_decompressed() {
        let text: Vec<u8> = (0..90_000u32).map(|n| (n % 251) as u8).collect();
        assert_eq!(read(text.clone(), false).await.unwrap(), text);
        assert_eq!(read(gzip(&text), true).await.unwrap(), text);
        assert_eq!(read(gzip(b""), true).await.unwrap(), b"");
    }

    #[tokio::test]
    async fn p12_bombs_and_broken_gzip_are_refused() {
        let bomb = gzip(&vec![0; 50 << 20]);
        assert!(bomb.len() < 100_000);
        assert_eq!(read(bomb, true).await, Err("too_large".to_owned()));
        assert_eq!(
            read(vec![0; 100_001], false).await,
            Err("too_large".to_owned())
        );
        let whole = gzip(b"0000");
        let cut = whole[..whole.len() - 3].to_vec();
        let twice = [whole.clone(), b"rest".to_vec()].concat();
        for broken in [b"no gzip".to_vec(), cut, twice, Vec::new()] {
            let error = read(broken.clone(), true).await;
            assert_eq!(error, Err("bad_request".to_owned()), "{broken:?}");
        }
    }
}
