//! The certificate of the server: flags and configuration.

use std::path::PathBuf;

use clap::Args;
use windlass_server::TlsFiles;

use super::super::exit::CliError;
use crate::config::Config;

#[derive(Debug, Args)]
pub(super) struct TlsArgs {
    /// Encrypt connections with the certificate in this PEM file, followed by those of its issuers (config: server.tls_cert)
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// File with the private key of the certificate, in PEM format (config: server.tls_key)
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
}

impl TlsArgs {
    /// Returns the files, if connections are to be encrypted. A flag replaces the configuration.
    pub(super) fn files(&self, config: &Config) -> Result<Option<TlsFiles>, CliError> {
        let server = &config.server;
        let cert = choose(&self.tls_cert, &server.tls_cert, "server.tls_cert")?;
        let key = choose(&self.tls_key, &server.tls_key, "server.tls_key")?;
        match (cert, key) {
            (Some(cert), Some(key)) => Ok(Some(TlsFiles { cert, key })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(CliError::usage(
                "a certificate needs its key: set it with --tls-key or server.tls_key",
            )),
            (None, Some(_)) => Err(CliError::usage(
                "a key needs its certificate: set it with --tls-cert or server.tls_cert",
            )),
        }
    }
}

/// Returns the file of a flag, or else the configured one.
fn choose(
    flag: &Option<PathBuf>,
    configured: &Option<String>,
    key: &str,
) -> Result<Option<PathBuf>, CliError> {
    if let Some(file) = flag {
        return Ok(Some(file.clone()));
    }
    match configured.as_ref().map(PathBuf::from) {
        Some(file) if file.is_relative() => Err(CliError::usage(format!(
            "{key} is {}: set an absolute path",
            file.display()
        ))),
        file => Ok(file),
    }
}
