//! The certificate of a server. It is exchanged for a new one while the server runs, without closing a connection.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rustls::pki_types::ServerName;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_util::sync::CancellationToken;
use webpki::EndEntityCert;

use super::files::{TlsError, TlsFileStamp, TlsFiles};

/// The stamps of the files of a certificate and its key.
type Stamps = [Option<TlsFileStamp>; 2];

/// A certificate with its key.
pub(crate) struct Certificate {
    files: TlsFiles,
    current: RwLock<Arc<CertifiedKey>>,
    /// Those of the files that were read last, whether they could be used or not.
    stamps: Mutex<Stamps>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl Certificate {
    /// Reads the files.
    pub(crate) fn read(files: TlsFiles) -> Result<Self, TlsError> {
        // Taken before: a change while the files are read is seen at the next check.
        let stamps = files.stamps();
        let current = RwLock::new(Arc::new(files.read()?));
        Ok(Self {
            files,
            current,
            stamps: Mutex::new(stamps),
        })
    }

    /// Reads the files again whenever they have changed, until the server stops.
    pub(crate) async fn follow(self: Arc<Self>, interval: Duration, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(interval) => {}
            }
            let certificate = Arc::clone(&self);
            // The files may be on a slow file system.
            let _ = tokio::task::spawn_blocking(move || certificate.refresh()).await;
        }
    }

    /// Reads the files if they have changed. If they cannot be used, the server keeps what it has.
    fn refresh(&self) {
        let stamps = self.files.stamps();
        if std::mem::replace(&mut *self.stamps.lock(), stamps) == stamps {
            return;
        }
        match self.files.read() {
            Ok(new) => {
                *self.current.write() = Arc::new(new);
                tracing::info!(cert = %self.files.cert.display(), "the certificate was replaced");
            }
            Err(error) => {
                tracing::warn!(%error, "the new certificate is not used, and the old one is kept");
            }
        }
    }

    /// Returns `true` if the certificate is for this host: a name, or an address without brackets.
    pub(crate) fn covers(&self, host: &str) -> bool {
        let Ok(name) = ServerName::try_from(host) else {
            return false;
        };
        let current = Arc::clone(&*self.current.read());
        let Some(Ok(own)) = current.cert.first().map(EndEntityCert::try_from) else {
            return false;
        };
        // With a final dot, the same name would be another host for browsers.
        !host.ends_with('.') && own.verify_is_valid_for_subject_name(&name).is_ok()
    }

    /// Returns the host under which clients reach a server at this address, with its port.
    pub(crate) fn host(&self, listen: SocketAddr) -> String {
        let (ip, port) = (listen.ip(), listen.port());
        if self.covers(&ip.to_string()) {
            return listen.to_string();
        }
        let is_local = ip.is_loopback() && self.covers("localhost");
        let local = is_local.then(|| "localhost".to_owned());
        match local.or_else(|| self.first_name()) {
            Some(name) if port == 443 => name,
            Some(name) => format!("{name}:{port}"),
            None => listen.to_string(),
        }
    }

    /// Returns the first name of the certificate that is not a pattern.
    fn first_name(&self) -> Option<String> {
        let current = Arc::clone(&*self.current.read());
        let own = EndEntityCert::try_from(current.cert.first()?).ok()?;
        let name = own.valid_dns_names().find(|name| !name.contains('*'));
        name.map(str::to_owned)
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&*self.current.read()))
    }
}
