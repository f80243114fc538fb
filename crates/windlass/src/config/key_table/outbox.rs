//! Keys of what leaves the machine: pushes, pull requests and notifications.

use super::{KeySpec, settings};
use crate::config::value_type::*;

settings! {
    /// Settings of pushes and pull requests.
    pub struct PublishSettings at "publish." {
        /// The git remote to which a worker pushes the branch of every proved task, such as "origin". Default: branches
        /// are pushed by `windlass task push` only.
        remote: Option<String> as NonEmptyText;
        /// The command that opens a pull request after a push, or "gh" or "glab" for the usual one. `{title}`, `{body}`,
        /// `{body_file}`, `{branch}`, `{base}` and `{remote}` are replaced in its arguments.
        command: Option<Vec<String>> as PublishCommand;
    }
}

settings! {
    /// Settings of traces that are sent to a collector.
    pub struct TelemetrySettings at "telemetry." {
        /// The address of an OpenTelemetry collector that gets the traces of attempts and requests (OTLP over HTTP, JSON), such as
        /// "http://127.0.0.1:4318". They are sent to its path `/v1/traces`.
        otlp_endpoint: Option<String> as Url, env_var("OTEL_EXPORTER_OTLP_ENDPOINT");
        /// The variable that holds the headers of these requests, as `NAME=VALUE,NAME=VALUE` with percent-encoded values. It is read
        /// from the environment, or else from a trusted `.env`. Default: OTEL_EXPORTER_OTLP_HEADERS, if it is set.
        headers_env: Option<String> as SecretVariable;
        /// The name of this service in the traces.
        service_name: String as NonEmptyText = "windlass", env_var("OTEL_SERVICE_NAME");
    }
}

settings! {
    /// Settings of notifications.
    pub struct NotifySettings at "notify." {
        /// Whether to show a notification on the desktop, with `notify-send`.
        desktop: bool as Bool = "false";
        /// The address that gets notifications as JSON, by POST.
        webhook: Option<String> as Url, secret;
        /// The variable that holds the secret with which requests to the webhook are signed. It is read from the
        /// environment, or else from a trusted `.env`.
        secret_env: Option<String> as SecretVariable;
        /// The command that gets notifications as JSON on its standard input.
        command: Option<Vec<String>> as CommandWords;
    }
}
