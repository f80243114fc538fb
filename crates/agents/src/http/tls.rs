//! The cryptography of TLS connections.

/// Starts to build an HTTP client that uses the cryptography of `ring`, or that which the process has chosen before.
pub(super) fn client_builder() -> reqwest::ClientBuilder {
    // Fails if one is installed already; that one is used then.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
}
