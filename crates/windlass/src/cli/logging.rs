//! Logging to stderr. By default only a service logs, and only warnings. The log never contains the text of a prompt,
//! and masks known secrets.

use std::fmt;
use std::io::IsTerminal;

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::Record;
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::{LookupSpan, Scope};
use windlass_core::{Clock, SystemClock, escape_json};

use super::Global;
use super::masking::MaskedStderr;

/// The format of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Starts logging. The filter is `WINDLASS_LOG`, or else the number of `-v` flags.
pub(super) fn start(global: &Global, is_service: bool) {
    let filter = EnvFilter::try_from_env("WINDLASS_LOG").unwrap_or_else(|_| {
        EnvFilter::new(match global.verbose {
            0 if is_service => "windlass=warn",
            0 => "off",
            1 => "windlass=info",
            2 => "windlass=debug",
            // The MCP client traces whole messages, which may contain private data.
            _ => "trace,rmcp=warn",
        })
    });
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| MaskedStderr)
        .with_ansi(!global.no_color && std::io::stderr().is_terminal());
    // If a program that embeds this one has already started logging, its logger stays.
    let _ = match global.log_format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => {
            let log = log.fmt_fields(JsonSpanFields);
            log.event_format(JsonLines).try_init()
        }
    };
}

/// Writes an event as one line of JSON: `time` (milliseconds since 1970), `level`, `target`, `message`, its fields and those
/// of the attempt, the turn or the request that it belongs to.
struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = JsonFields(Map::new());
        for span in context.event_scope().into_iter().flat_map(Scope::from_root) {
            let extensions = span.extensions();
            let known = extensions.get::<FormattedFields<N>>();
            fields.0.extend(known.map_or_else(Map::new, parse_fields));
        }
        event.record(&mut fields);
        let meta = event.metadata();
        // After the fields, so that none of them replaces these.
        let own = [
            ("time", json!(SystemClock::new().now())),
            ("level", json!(meta.level().as_str().to_ascii_lowercase())),
            ("target", json!(meta.target())),
        ];
        for (name, value) in own {
            fields.0.insert(name.to_owned(), value);
        }
        let line = Value::Object(fields.0).to_string();
        writeln!(writer, "{}", escape_json(&line))
    }
}

/// Keeps the fields of a span as JSON.
struct JsonSpanFields;

impl<'w> FormatFields<'w> for JsonSpanFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut found = JsonFields(Map::new());
        fields.record(&mut found);
        write!(writer, "{}", Value::Object(found.0))
    }

    fn add_fields(
        &self,
        current: &'w mut FormattedFields<Self>,
        fields: &Record<'_>,
    ) -> fmt::Result {
        let mut known = JsonFields(parse_fields(current));
        fields.record(&mut known);
        current.fields = Value::Object(known.0).to_string();
        Ok(())
    }
}

fn parse_fields<N>(fields: &FormattedFields<N>) -> Map<String, Value> {
    serde_json::from_str(&fields.fields).unwrap_or_default()
}

/// Collects the fields of an event.
struct JsonFields(Map<String, Value>);

impl Visit for JsonFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let value = format!("{value:?}");
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct LogOutput(Arc<Mutex<Vec<u8>>>);

    impl Write for LogOutput {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn json_log_has_one_object_per_event() {
        let output = LogOutput::default();
        let writer = output.clone();
        let log = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .fmt_fields(JsonSpanFields)
            .event_format(JsonLines)
            .finish();
        tracing::subscriber::with_default(log, || {
            tracing::warn!(
                id = "a-1",
                count = 7_u64,
                level = "mine",
                "two\nlines \u{1b}[31m"
            );
            tracing::info!(ok = true, "second");
            let attempt =
                tracing::error_span!("attempt", task = 3_u64, trace_id = tracing::field::Empty);
            attempt.record("trace_id", "4bf9");
            let turn = tracing::error_span!(parent: &attempt, "prompt", task = 4_u64, turn = 1_u64);
            turn.in_scope(|| tracing::warn!(turn = 2_u64, "third"));
        });
        let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains('\u{1b}'), "{text}");
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[0]["message"], "two\nlines \u{1b}[31m");
        assert_eq!(lines[0]["level"], "warn");
        assert_eq!(
            (&lines[0]["id"], &lines[0]["count"]),
            (&json!("a-1"), &json!(7))
        );
        assert!(lines[0]["time"].as_u64().unwrap() > 1_600_000_000_000);
        assert_eq!(
            (&lines[1]["ok"], &lines[1]["level"]),
            (&json!(true), &json!("info"))
        );
        // The nearest value of a name counts.
        let third = &lines[2];
        assert_eq!(
            (&third["trace_id"], &third["task"]),
            (&json!("4bf9"), &json!(4))
        );
        assert_eq!(
            (&third["turn"], &third["message"]),
            (&json!(2), &json!("third"))
        );
    }
}
