//! Sends traces to an OpenTelemetry collector, by OTLP over HTTP, after they were stored.
//!
//! The spans are the steps of `windlass trace`, with the same texts, in which secrets are masked: no prompt, no answer, and of
//! a process's output nothing but an error message. Only three small parts of the protocol are needed, so they are written
//! here (`otlp.rs`): the OpenTelemetry SDK would bring a second way to record spans, and its own HTTP client without our
//! rules.

mod exporter;
mod headers;
mod otlp;

use std::ffi::OsStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use secrecy::ExposeSecret as _;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use windlass_agents::http::JsonPoster;
use windlass_core::{SpanCounts, TraceNode, TraceObserver};

use crate::config::{Config, Inputs};
use exporter::{ExportQueue, Exporter, StoredTrace};

/// The path of traces below the address of a collector.
const TRACES_PATH: &str = "/v1/traces";
/// The variable with the headers, if the configuration names no other one.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// Time limit of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the end of the program waits for the collector.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Where traces are sent to.
#[derive(Debug)]
pub(crate) struct Telemetry {
    queue: ExportQueue,
    /// Ended by `stop`. It starts with the first trace, so a command without traces has none.
    exporter: Mutex<Option<Exporter>>,
    task: OnceLock<Mutex<Option<JoinHandle<()>>>>,
    stop: CancellationToken,
}

impl Telemetry {
    /// Returns `None` if no collector is configured. Fails if a setting is invalid.
    pub(crate) fn new(config: &Config, inputs: &Inputs) -> Result<Option<Self>, String> {
        let settings = &config.telemetry;
        let Some(endpoint) = settings.otlp_endpoint.as_deref() else {
            return Ok(None);
        };
        if is_disabled(inputs) {
            return Ok(None);
        }
        let headers = match &settings.headers_env {
            Some(name) => {
                let value = config.secret(name).ok_or_else(|| {
                    format!("telemetry.headers_env: {name} is not set: set it, or remove the key")
                })?;
                headers::parse(name, value.expose_secret())?
            }
            None => match config.secret(HEADERS) {
                Some(value) => headers::parse(HEADERS, value.expose_secret())?,
                None => Vec::new(),
            },
        };
        let address = format!("{}{TRACES_PATH}", endpoint.trim_end_matches('/'));
        let collector = JsonPoster::new(&address, REQUEST_TIMEOUT);
        let collector = collector.map_err(|why| format!("telemetry.otlp_endpoint: {why}"))?;
        let stop = CancellationToken::new();
        let (queue, received) = ExportQueue::new();
        let exporter = Exporter {
            collector,
            headers,
            service: settings.service_name.clone(),
            counts: Arc::clone(&queue.counts),
            received,
            stop: stop.clone(),
            is_failing: false,
        };
        Ok(Some(Self {
            queue,
            exporter: Mutex::new(Some(exporter)),
            task: OnceLock::new(),
            stop,
        }))
    }

    /// Returns how many spans were sent, and how many were not.
    pub(crate) fn counts(&self) -> Arc<SpanCounts> {
        Arc::clone(&self.queue.counts)
    }

    /// Sends what waits, for a short time. No trace is accepted any more.
    pub(crate) async fn flush(&self) {
        self.stop.cancel();
        let task = self.task.get().and_then(|task| task.lock().take());
        let Some(mut task) = task else {
            return;
        };
        if tokio::time::timeout(FLUSH_TIMEOUT, &mut task)
            .await
            .is_err()
        {
            task.abort();
            tracing::warn!("the last spans were not sent: the collector does not answer");
        }
    }
}

impl TraceObserver for Telemetry {
    fn on_trace(&self, store: &str, id: String, root: TraceNode) {
        self.task.get_or_init(|| {
            let exporter = self.exporter.lock().take();
            Mutex::new(exporter.map(|exporter| tokio::spawn(exporter.run())))
        });
        self.queue.push(StoredTrace {
            store: store.to_owned(),
            id,
            root,
        });
    }
}

/// The standard variables with which a user turns tracing off.
fn is_disabled(inputs: &Inputs) -> bool {
    let is = |name: &str, wanted: &str| {
        let value = inputs.environment.get(OsStr::new(name));
        value.is_some_and(|value| value.eq_ignore_ascii_case(wanted))
    };
    is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none")
}
