//! The certificate of the server: flags and configuration.

use std::path::{Path, PathBuf};

use clap::Args;
use windlass_server::TlsFiles;

use super::super::exit::CliError;
use crate::config::{Config, Flag, Key};

const CERT: (&str, &str) = ("--tls-cert", "server.tls_cert");
const KEY: (&str, &str) = ("--tls-key", "server.tls_key");

#[derive(Debug, Args)]
pub(super) struct TlsArgs {
    /// Encrypt connections with the certificate in this PEM file, followed by those of its issuers (config: server.tls_cert)
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<String>,
    /// File with the private key of the certificate, in PEM format (config: server.tls_key)
    #[arg(long, value_name = "FILE")]
    tls_key: Option<String>,
}

impl TlsArgs {
    /// Returns the flags as settings: every sandbox hides the key that the configuration names.
    pub(super) fn settings(&self, cwd: &Path) -> Vec<Flag> {
        let flags = [(CERT, &self.tls_cert), (KEY, &self.tls_key)];
        let set = flags.into_iter().filter_map(|(names, file)| {
            let file = cwd.join(file.as_ref()?);
            Some((names, file.to_string_lossy().into_owned()))
        });
        set.map(|((name, key), value)| Flag {
            name,
            key: Key::dotted(key),
            value,
        })
        .collect()
    }
}

/// Returns the files, if connections are to be encrypted.
pub(super) fn files(config: &Config) -> Result<Option<TlsFiles>, CliError> {
    let server = &config.server;
    let cert = absolute(&server.tls_cert, CERT.1)?;
    let key = absolute(&server.tls_key, KEY.1)?;
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

fn absolute(file: &Option<String>, key: &str) -> Result<Option<PathBuf>, CliError> {
    match file.as_ref().map(PathBuf::from) {
        Some(file) if file.is_relative() => Err(CliError::usage(format!(
            "{key} is {}: set an absolute path",
            file.display()
        ))),
        file => Ok(file),
    }
}
