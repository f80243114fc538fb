//! Sends one request to a webhook, under the rules of all requests: no redirects, and limits on everything.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, USER_AGENT};
use reqwest::redirect::Policy;

use super::BaseUrl;
use super::client::root_cause;
use super::tls::client_builder;

/// Time limit of the whole request.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Sends JSON to an address by POST, with these headers. Returns the reason if the response is not a success. No
/// message contains the address, which may be secret.
pub async fn post_json(
    address: &str,
    headers: &[(&str, String)],
    body: String,
) -> Result<(), String> {
    let url = BaseUrl::parse(address)?;
    let mut builder = client_builder()
        .redirect(Policy::none())
        .referer(false)
        .timeout(TIMEOUT);
    if url.is_local() {
        builder = builder.no_proxy();
    }
    let client = builder
        .build()
        .map_err(|error| format!("cannot create an HTTP client: {}", root_cause(&error)))?;
    let mut request = client
        .post(url.exact())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("windlass/", env!("CARGO_PKG_VERSION")))
        .body(body);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let response = request.send().await.map_err(|error| {
        let error = error.without_url();
        if error.is_timeout() {
            format!("no response within {} s", TIMEOUT.as_secs())
        } else {
            format!("it cannot be reached: {}", root_cause(&error))
        }
    })?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    Err(format!("it answered {}", status.as_u16()))
}
