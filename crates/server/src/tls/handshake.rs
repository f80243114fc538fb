//! Handshakes. Each one runs in the task of its connection, so that a slow client delays no other.

use std::io;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::Acceptor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Certificate, TlsError};

/// The response to a request without TLS.
const PLAIN_RESPONSE: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 47\r\nConnection: close\r\n\r\nthis port is encrypted: use an https:// address";
/// How much of a request without TLS is read, and how long, so that the client gets the response before the connection
/// is closed.
const MAX_PLAIN_BYTES: u64 = 64 << 10;
const PLAIN_TIME: Duration = Duration::from_secs(1);

/// What all handshakes of a server share.
#[derive(Debug)]
pub(crate) struct Handshakes {
    config: Arc<ServerConfig>,
    /// Limits concurrent signatures: a flood of handshakes must not take every processor from the requests of others.
    signing: Semaphore,
}

impl Handshakes {
    pub(crate) fn new(certificate: Arc<Certificate>) -> Result<Arc<Self>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        // TLS 1.2 and 1.3.
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Setup(error.to_string()))?;
        let mut config = config.with_no_client_auth().with_cert_resolver(certificate);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let processors = available_parallelism().map_or(1, usize::from);
        Ok(Arc::new(Self {
            config: Arc::new(config),
            signing: Semaphore::new((processors / 2).max(1)),
        }))
    }

    /// Performs the handshake of a connection. The caller limits its time.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let mut first = [0];
        let count = stream.peek(&mut first).await?;
        if count == 1 && first[0].is_ascii_uppercase() {
            refuse_plain(stream).await;
            return Err(io::Error::other("a request without TLS"));
        }
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        let answered = {
            let permit = self.signing.acquire().await;
            let _permit = permit.map_err(io::Error::other)?;
            // The answer to the client's first message contains the signature.
            hello.into_stream(Arc::clone(&self.config))
        };
        answered.await
    }
}

/// Tells a client that speaks HTTP without TLS what to do.
async fn refuse_plain(mut stream: TcpStream) {
    let answer = async {
        stream.write_all(PLAIN_RESPONSE.as_bytes()).await?;
        stream.shutdown().await?;
        // Unread data would make the system discard the response.
        let mut rest = stream.take(MAX_PLAIN_BYTES);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    };
    let _ = tokio::time::timeout(PLAIN_TIME, answer).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_of_the_plain_response_is_right() {
        let (head, body) = PLAIN_RESPONSE.split_once("\r\n\r\n").unwrap();
        let length = format!("Content-Length: {}\r\n", body.len());
        assert!(head.contains(&length), "{}", body.len());
    }
}
