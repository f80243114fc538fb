//! Values that are recognized by pattern: ids, ports of loopback addresses, keys.

use std::ops::Range;

/// The kind of a value found by pattern.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PatternKind {
    Id,
    Port,
}

/// The prefixes of model and agent ids. At least [`MIN_ID_TAIL`] characters follow.
const ID_PREFIXES: [&str; 9] = [
    "chatcmpl-",
    "msg_",
    "call_",
    "resp_",
    "toolu_",
    "req_",
    "fc_",
    "rs_",
    "ctc_",
];
const MIN_ID_TAIL: usize = 10;

/// The prefixes of keys of well-known services. At least [`MIN_KEY_TAIL`] characters follow.
const KEY_PREFIXES: [&str; 11] = [
    "sk-",
    "sk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "AKIA",
    "AIza",
    "xoxb-",
    "xoxp-",
];
const MIN_KEY_TAIL: usize = 16;

const LOOPBACK_HOSTS: [&str; 4] = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0"];

/// Matches a key at this position. The match includes all characters that may belong to the key: losing a
/// word is better than keeping a part of a key.
pub(crate) fn match_key(text: &str, at: usize, borders: &[usize]) -> Option<Range<usize>> {
    let rest = &text[at..];
    if !rest.starts_with(['B', 's', 'g', 'A', 'x']) || !starts_word(text, at, borders) {
        return None;
    }
    if let Some(token) = rest.strip_prefix("Bearer ") {
        let len = prefix_len_while(token, |b| is_word(b) || b"-.~+/=".contains(&b));
        let start = at + rest.len() - token.len();
        return (len >= 8).then(|| start..start + len);
    }
    let prefix = KEY_PREFIXES
        .iter()
        .find(|prefix| rest.starts_with(**prefix))?;
    let tail = prefix_len_while(&rest[prefix.len()..], |b| is_word(b) || b == b'-');
    (tail >= MIN_KEY_TAIL).then(|| at..at + prefix.len() + tail)
}

/// Matches a port or an id at this position. `borders` are the offsets at which chunks were joined.
pub(crate) fn match_port_or_id(
    text: &str,
    at: usize,
    borders: &[usize],
) -> Option<(Range<usize>, PatternKind)> {
    // The first byte excludes most positions.
    let first = *text.as_bytes().get(at)?;
    let port = || match_port(text, at).map(|range| (range, PatternKind::Port));
    let uuid = || match_uuid(text, at, borders).map(|end| (at..end, PatternKind::Id));
    let prefixed = || match_prefixed_id(text, at, borders).map(|end| (at..end, PatternKind::Id));
    match first {
        b'0' | b'1' => port().or_else(uuid),
        b'l' | b'[' => port(),
        b'c' | b'f' => uuid().or_else(prefixed),
        b'm' | b'r' | b't' => prefixed(),
        _ if first.is_ascii_hexdigit() => uuid(),
        _ => None,
    }
}

/// Returns the end of an id with a known prefix.
fn match_prefixed_id(text: &str, at: usize, borders: &[usize]) -> Option<usize> {
    let rest = &text[at..];
    let prefix = ID_PREFIXES
        .iter()
        .find(|prefix| rest.starts_with(**prefix))?;
    let tail = prefix_len_while(&rest[prefix.len()..], |b| is_word(b) || b == b'-');
    let mut end = at + prefix.len() + tail;
    // If the id is already complete at the end of a chunk, the following text is a word of the next chunk.
    let min_end = at + prefix.len() + MIN_ID_TAIL;
    if let Some(border) = borders
        .iter()
        .find(|border| (min_end..end).contains(*border))
    {
        end = *border;
    }
    let has_digit = rest[..end - at].bytes().any(|b| b.is_ascii_digit());
    (end >= min_end && has_digit && starts_word(text, at, borders)).then_some(end)
}

fn match_port(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let host = LOOPBACK_HOSTS
        .iter()
        .find(|host| rest.starts_with(**host))?;
    let after = &rest[host.len()..];
    let colon = [":", "%3A", "%3a"]
        .iter()
        .find(|colon| after.starts_with(**colon))?;
    let digits = prefix_len_while(&after[colon.len()..], |b| b.is_ascii_digit());
    let start = at + host.len() + colon.len();
    (2..=5).contains(&digits).then(|| start..start + digits)
}

fn match_uuid(text: &str, at: usize, borders: &[usize]) -> Option<usize> {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let bytes = text.as_bytes();
    let hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let is_border = |at: &usize| borders.binary_search(at).is_ok();
    if at > 0 && hex(at - 1) && !is_border(&at) {
        return None;
    }
    let mut end = at;
    for (number, group) in GROUPS.into_iter().enumerate() {
        if number > 0 {
            (bytes.get(end) == Some(&b'-')).then_some(())?;
            end += 1;
        }
        (end..end + group).all(hex).then_some(())?;
        end += group;
    }
    (!hex(end) || is_border(&end)).then_some(end)
}

/// Returns `true` if a word may start here. The letter of an escape such as `\n` is not part of a word, and a new
/// chunk may start a new word.
fn starts_word(text: &str, at: usize, borders: &[usize]) -> bool {
    if borders.binary_search(&at).is_ok() {
        return true;
    }
    let mut before = text[..at].chars().rev();
    match before.next() {
        Some('n' | 't' | 'r') => before.next() == Some('\\'),
        Some(c) => !c.is_alphanumeric() && c != '_' && c != '-',
        None => true,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn prefix_len_while(text: &str, accept: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| accept(*byte)).count()
}
