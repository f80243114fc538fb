//! The ids that a trace and its steps have outside of Windlass, as OpenTelemetry and W3C Trace Context define them.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The id of a trace: 32 hexadecimal digits, not all zero.
const TRACE_DIGITS: usize = 32;
/// The id of a span: 16 hexadecimal digits, not all zero.
const SPAN_DIGITS: usize = 16;

/// The span of a caller, of which a request is a part: the header `traceparent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceParent {
    trace_id: String,
    span_id: String,
    sampled: bool,
}

impl TraceParent {
    /// The maximum length of a header that is read. A later version of the format may be longer than the 55 bytes of
    /// version 0.
    const MAX_BYTES: usize = 512;

    /// Parses the header's value. Returns `None` for one that the specification tells to ignore.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > Self::MAX_BYTES {
            return None;
        }
        let mut parts = text.split('-');
        let (version, trace_id) = (parts.next()?, parts.next()?);
        let (span_id, flags) = (parts.next()?, parts.next()?);
        // Only a later version may have more parts.
        let is_complete = version != "00" || parts.next().is_none();
        let is_valid = is_complete
            && is_hex(version, 2)
            && version != "ff"
            && is_id(trace_id, TRACE_DIGITS)
            && is_id(span_id, SPAN_DIGITS)
            && is_hex(flags, 2);
        is_valid.then(|| Self {
            trace_id: trace_id.to_owned(),
            span_id: span_id.to_owned(),
            sampled: u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1),
        })
    }

    /// Returns the id of the caller's trace.
    pub fn trace_id(&self) -> &str {
        &self.trace_id
    }

    /// Returns the id of the caller's span.
    pub fn span_id(&self) -> &str {
        &self.span_id
    }

    /// Returns `true` if the caller records its trace.
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled);
        write!(f, "00-{}-{}-{flags:02x}", self.trace_id, self.span_id)
    }
}

impl From<TraceParent> for String {
    fn from(parent: TraceParent) -> Self {
        parent.to_string()
    }
}

impl TryFrom<String> for TraceParent {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not a traceparent")
    }
}

/// The ids of one trace and its steps. They follow from the store and the trace's own id, so each program that reads the
/// trace finds the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceIds {
    trace_id: String,
    /// A digest of the store and the trace.
    origin: [u8; 32],
}

impl TraceIds {
    /// Returns the ids of a trace of this store. The trace of a request with a caller's span has the id of the caller's trace.
    pub fn new(store: &str, trace: &str, parent: Option<&TraceParent>) -> Self {
        let origin = Sha256::digest(format!("windlass trace\0{store}\0{trace}"));
        let trace_id = match parent {
            Some(parent) => parent.trace_id.clone(),
            // The id of a request is random and has the form that is needed.
            None if is_id(trace, TRACE_DIGITS) => trace.to_owned(),
            None => id(&origin, TRACE_DIGITS),
        };
        Self {
            trace_id,
            origin: origin.into(),
        }
    }

    /// Returns the id of the trace.
    pub fn trace_id(&self) -> &str {
        &self.trace_id
    }

    /// Returns the id of a step, given the position of each step on the way to it. The root is the empty path.
    pub fn span_id(&self, path: &[usize]) -> String {
        let mut step = Sha256::new_with_prefix(self.origin);
        for position in path {
            step.update(format!(".{position}"));
        }
        id(&step.finalize(), SPAN_DIGITS)
    }
}

/// Returns the first digits of a digest. An id is never zero.
fn id(digest: &[u8], digits: usize) -> String {
    let mut text = String::with_capacity(digits);
    for byte in digest.iter().take(digits / 2) {
        let _ = write!(text, "{byte:02x}");
    }
    if is_id(&text, digits) {
        text
    } else {
        format!("{:0>digits$}", 1)
    }
}

fn is_id(text: &str, digits: usize) -> bool {
    is_hex(text, digits) && text.bytes().any(|byte| byte != b'0')
}

/// The digits are lowercase: the specification does not allow others.
fn is_hex(text: &str, digits: usize) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == digits && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn traceparent_is_read_as_specified() {
        let parent = TraceParent::parse(PARENT).unwrap();
        assert_eq!(parent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(parent.span_id(), "00f067aa0ba902b7");
        assert!(parent.is_sampled());
        assert_eq!(parent.to_string(), PARENT);
        let later = PARENT.replacen("00", "01", 1) + "-more-parts";
        assert_eq!(TraceParent::parse(&later), Some(parent));
        let unsampled = PARENT.replace("b7-01", "b7-fe");
        assert!(!TraceParent::parse(&unsampled).unwrap().is_sampled());
    }

    #[test]
    fn invalid_traceparent_is_ignored() {
        let long = format!("01{}-{}", &PARENT[2..], "a".repeat(1_000));
        for text in [
            "",
            "00",
            &PARENT[..54],
            &format!("{PARENT}-00"),
            &format!("{PARENT} "),
            &PARENT.replacen("00", "ff", 1),
            &PARENT.to_uppercase(),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b70-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473\u{e9}-00f067aa0ba902b7-01",
            &long,
        ] {
            assert_eq!(TraceParent::parse(text), None, "{text}");
        }
    }

    #[test]
    fn ids_follow_from_store_and_trace() {
        let ids = TraceIds::new("0badcafe", "task-1-attempt-2", None);
        assert_eq!(ids, TraceIds::new("0badcafe", "task-1-attempt-2", None));
        assert!(is_id(ids.trace_id(), TRACE_DIGITS));
        let other = TraceIds::new("0badcaff", "task-1-attempt-2", None);
        assert_ne!(ids.trace_id(), other.trace_id());
        let paths: [&[usize]; 5] = [&[], &[1], &[1, 2], &[12], &[2, 1]];
        let mut spans: Vec<String> = paths.iter().map(|path| ids.span_id(path)).collect();
        spans.extend(paths.iter().map(|path| other.span_id(path)));
        assert!(spans.iter().all(|id| is_id(id, SPAN_DIGITS)));
        spans.sort();
        spans.dedup();
        assert_eq!(spans.len(), 10);
    }

    #[test]
    fn id_of_a_request_is_that_of_its_trace_unless_the_caller_has_one() {
        let request = "0af7651916cd43dd8448eb211c80319c";
        let ids = TraceIds::new("0badcafe", request, None);
        assert_eq!(ids.trace_id(), request);
        let parent = TraceParent::parse(PARENT).unwrap();
        let continued = TraceIds::new("0badcafe", request, Some(&parent));
        assert_eq!(continued.trace_id(), parent.trace_id());
        // Two requests of the same trace have different spans.
        assert_eq!(continued.span_id(&[]), ids.span_id(&[]));
        let second = TraceIds::new(
            "0badcafe",
            "1af7651916cd43dd8448eb211c80319c",
            Some(&parent),
        );
        assert_ne!(continued.span_id(&[]), second.span_id(&[]));
    }
}
