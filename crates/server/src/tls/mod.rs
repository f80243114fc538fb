//! HTTPS: the certificate, which is read again when its files change, and handshakes within limits.

mod certificate;
mod files;
mod handshake;

use std::sync::Arc;

pub(crate) use certificate::Certificate;
pub use files::{TlsError, TlsFiles};
pub(crate) use handshake::Handshakes;

/// The encryption of a server's connections.
#[derive(Debug)]
pub(crate) struct Tls {
    pub(crate) certificate: Arc<Certificate>,
    pub(crate) handshakes: Arc<Handshakes>,
}

impl Tls {
    /// Reads the files.
    pub(crate) fn read(files: TlsFiles) -> Result<Self, TlsError> {
        let certificate = Arc::new(Certificate::read(files)?);
        let handshakes = Handshakes::new(Arc::clone(&certificate))?;
        Ok(Self {
            certificate,
            handshakes,
        })
    }
}
