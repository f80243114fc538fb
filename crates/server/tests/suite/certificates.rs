//! Certificates for tests, made by openssl.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use windlass_server::TlsFiles;

/// The newest TLS version, and the oldest one that is supported.
pub(crate) const VERSIONS: [&SupportedProtocolVersion; 2] =
    [&rustls::version::TLS13, &rustls::version::TLS12];

/// An authority that issues certificates into its own directory.
pub(crate) struct Authority {
    pub(crate) dir: TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let authority = Self {
            dir: TempDir::new().unwrap(),
        };
        authority.write_config("DNS:unused");
        authority.openssl(&format!(
            "req -x509 -config config -extensions ca -days 2 {EC} -nodes -keyout ca.key -out ca.pem"
        ));
        authority
    }

    fn write_config(&self, names: &str) {
        let config = format!(
            "[req]\ndistinguished_name = subject\nprompt = no\n[subject]\nCN = Test\n\
             [ca]\nbasicConstraints = critical,CA:TRUE\n\
             [leaf]\nbasicConstraints = critical,CA:FALSE\nsubjectAltName = {names}\n"
        );
        std::fs::write(self.dir.path().join("config"), config).unwrap();
    }

    /// Runs openssl in the directory.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test needs certificates of another program"
    )]
    pub(crate) fn openssl(&self, args: &str) {
        let mut openssl = Command::new("openssl");
        openssl.args(args.split(' ')).current_dir(self.dir.path());
        let output = openssl.output().unwrap();
        assert!(output.status.success(), "{args}: {output:?}");
    }

    /// Issues a certificate for these names, such as `DNS:team.example,IP:127.0.0.1`, into files with this name.
    pub(crate) fn issue(&self, file: &str, names: &str) -> TlsFiles {
        self.issue_with(file, names, EC)
    }

    /// Issues a certificate with a kind of key.
    pub(crate) fn issue_with(&self, file: &str, names: &str, key: &str) -> TlsFiles {
        self.write_config(names);
        self.openssl(&format!(
            "req -x509 -config config -extensions leaf -days 2 -CA ca.pem -CAkey ca.key {key} -nodes \
             -keyout {file}.key -out {file}.pem"
        ));
        self.files(file)
    }

    pub(crate) fn files(&self, file: &str) -> TlsFiles {
        TlsFiles {
            cert: self.dir.path().join(format!("{file}.pem")),
            key: self.dir.path().join(format!("{file}.key")),
        }
    }

    /// Connects as a client that trusts this authority alone.
    pub(crate) async fn connect(
        &self,
        addr: std::net::SocketAddr,
        name: &str,
        version: &'static SupportedProtocolVersion,
    ) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(addr).await.unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let connector = TlsConnector::from(Arc::new(self.client(version)));
        let mut stream = connector.connect(name, stream).await.unwrap();
        stream.flush().await.unwrap();
        stream
    }

    fn client(&self, version: &'static SupportedProtocolVersion) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots
            .add(certificate(&self.dir.path().join("ca.pem")))
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_protocol_versions(&[version]).unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }
}

/// A key that is quick to make.
const EC: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256";

/// Reads the first certificate of a file.
pub(crate) fn certificate(file: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(file).unwrap()
}
