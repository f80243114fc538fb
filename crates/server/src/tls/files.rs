//! Reads a certificate and its key from files in PEM format.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use webpki::EndEntityCert;
use windlass_core::{ExposeSecret, SecretString};

/// The maximum size of a file: far more than a chain of certificates has.
const MAX_BYTES: u64 = 1 << 20;

/// The files with the certificate and the key of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate in PEM format, followed by those of its issuers.
    pub cert: PathBuf,
    /// The private key in PEM format: PKCS#8, RSA or EC.
    pub key: PathBuf,
}

/// Error when a certificate or its key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be used.
    #[error("{} {problem}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The problem, and what to do.
        problem: String,
    },
    /// TLS cannot be used at all.
    #[error("TLS cannot be used: {0}")]
    Setup(String),
    /// The key belongs to another certificate.
    #[error(
        "the key {} does not belong to the first certificate in {}: use the key of that certificate, and put the \
        server's own certificate before those of its issuers",
        .files.key.display(),
        .files.cert.display()
    )]
    Mismatch {
        /// The files.
        files: TlsFiles,
    },
}

impl TlsError {
    pub(super) fn file(path: &Path, problem: impl Into<String>) -> Self {
        Self::File {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }
}

/// What changes when a file is replaced, written, or gets other permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TlsFileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl TlsFileStamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

impl TlsFiles {
    /// Returns the stamps of both files. A file that is missing has none.
    pub(super) fn stamps(&self) -> [Option<TlsFileStamp>; 2] {
        [TlsFileStamp::of(&self.cert), TlsFileStamp::of(&self.key)]
    }

    /// Reads both files.
    pub(super) fn read(&self) -> Result<CertifiedKey, TlsError> {
        let chain = self.read_chain()?;
        let key = self.read_key()?;
        CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsError::Mismatch {
                files: self.clone(),
            },
            error => TlsError::file(
                &self.key,
                format!("has a key that cannot be used: {error}; use RSA with 2048 to 8192 bits, P-256, P-384 or Ed25519"),
            ),
        })
    }

    fn read_chain(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let problem = |problem: String| TlsError::file(&self.cert, problem);
        let text = read(&self.cert, |_| Ok(()))?;
        let chain = CertificateDer::pem_slice_iter(text.expose_secret().as_bytes());
        let chain: Result<Vec<_>, _> = chain.collect();
        let chain = chain.map_err(|error| problem(format!("is not valid PEM: {error}")))?;
        let Some(first) = chain.first() else {
            return Err(problem(
                "contains no certificate: it needs one that starts with -----BEGIN CERTIFICATE-----".to_owned(),
            ));
        };
        match EndEntityCert::try_from(first) {
            Ok(_) => Ok(chain),
            Err(error) => Err(problem(format!(
                "has a certificate that cannot be used ({error:?}): use an X.509 certificate of version 3"
            ))),
        }
    }

    fn read_key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        let text = read(&self.key, |metadata| check_private(&self.key, metadata))?;
        let text = text.expose_secret();
        if text.contains("ENCRYPTED") {
            return Err(TlsError::file(
                &self.key,
                "has a key with a passphrase, which the server cannot ask for: write it without one, with openssl pkey",
            ));
        }
        PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| {
            TlsError::file(
                &self.key,
                "contains no private key: it needs one in PEM format (PKCS#8, RSA or EC)",
            )
        })
    }
}

/// Reads a file that passes a check. Links are followed: tools for certificates exchange them on renewal.
fn read(
    path: &Path,
    check: impl FnOnce(&Metadata) -> Result<(), TlsError>,
) -> Result<SecretString, TlsError> {
    let unreadable = |error: io::Error| TlsError::file(path, format!("cannot be read: {error}"));
    let file = open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(TlsError::file(path, "is not a regular file"));
    }
    if metadata.size() > MAX_BYTES {
        return Err(TlsError::file(
            path,
            format!("is larger than {MAX_BYTES} bytes: it is no file for TLS"),
        ));
    }
    check(&metadata)?;
    let mut text = String::new();
    let count = file.take(MAX_BYTES).read_to_string(&mut text);
    let text = SecretString::from(text);
    match count {
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(TlsError::file(
            path,
            "is not text: convert it to PEM format, with openssl x509 or openssl pkey",
        )),
        Err(error) => Err(unreadable(error)),
    }
}

/// Opens a file. A named pipe does not block.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
}

/// Fails if other users can use the key. The group may read a key of root: this is how a system lets its services share
/// one.
fn check_private(path: &Path, metadata: &Metadata) -> Result<(), TlsError> {
    let (owner, own) = (metadata.uid(), rustix::process::geteuid().as_raw());
    let forbidden = match owner {
        0 => 0o037,
        owner if owner == own => 0o077,
        owner => {
            let problem =
                format!("belongs to user {owner}, neither to you nor to root: it is not used");
            return Err(TlsError::file(path, problem));
        }
    };
    if metadata.mode() & forbidden != 0 {
        return Err(TlsError::file(
            path,
            "can be read or written by other users: run chmod 600 on it",
        ));
    }
    Ok(())
}
