//! Things that are known by their looks: ids, ports of loopback addresses, keys.

use std::ops::Range;

/// What was found by its looks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PatternKind {
    Id,
    Port,
}

/// How ids of models and agents begin; what follows has at least [`ID_TAIL`] letters.
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

/// How keys of well-known services begin; what follows has at least [`KEY_TAIL`] letters.
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

/// A key at this place, by its looks. It takes all letters that follow: better a word lost than a key kept.
pub(super) fn match_key(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    if !rest.starts_with(['B', 's', 'g', 'A', 'x']) || !starts_word(text, at) {
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

/// A port or an id at this place, by its looks. `borders` are where pieces of the text were joined.
pub(super) fn match_port_or_id(
    text: &str,
    at: usize,
    borders: &[usize],
) -> Option<(Range<usize>, PatternKind)> {
    // Most places hold nothing of the kind, and their first byte shows it.
    let first = *text.as_bytes().get(at)?;
    let port = || port(text, at).map(|port| (port, PatternKind::Port));
    let uuid = || match_uuid(text, at, borders).map(|end| (at..end, PatternKind::Id));
    let prefixed = || prefixed(text, at, borders).map(|end| (at..end, PatternKind::Id));
    match first {
        b'0' | b'1' => port().or_else(uuid),
        b'l' | b'[' => port(),
        b'c' | b'f' => uuid().or_else(prefixed),
        b'm' | b'r' | b't' => prefixed(),
        _ if first.is_ascii_hexdigit() => uuid(),
        _ => None,
    }
}

/// The end of an id that begins as ids of models and agents do.
fn prefixed(text: &str, at: usize, borders: &[usize]) -> Option<usize> {
    let rest = &text[at..];
    let prefix = ID_PREFIXES
        .iter()
        .find(|prefix| rest.starts_with(**prefix))?;
    let tail = prefix_len_while(&rest[prefix.len()..], |b| is_word(b) || b == b'-');
    let mut end = at + prefix.len() + tail;
    // Whole already where a piece ends: what follows is another piece's first word.
    let whole = at + prefix.len() + MIN_ID_TAIL;
    if let Some(border) = borders.iter().find(|border| (whole..end).contains(*border)) {
        end = *border;
    }
    let has_digit = rest[..end - at].bytes().any(|b| b.is_ascii_digit());
    (end >= whole && has_digit && starts_word(text, at)).then_some(end)
}

fn port(text: &str, at: usize) -> Option<Range<usize>> {
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

/// Whether a word may begin here. The letter of an escape such as `\n` belongs to no word.
fn starts_word(text: &str, at: usize) -> bool {
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

fn prefix_len_while(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| belongs(*byte)).count()
}
