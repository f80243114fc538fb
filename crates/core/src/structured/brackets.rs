//! Where something in brackets ends, and the one mistake inside it that is safe to mend.

use super::json::MAX_DEPTH;

/// The length of the bracketed region that the text begins with: up to its matching closer.
///
/// Brackets in strings do not count. There is no region where a bracket is closed by the wrong closer, is never
/// closed, or where they stand too deep.
pub(super) fn balanced_len(text: &str) -> Option<usize> {
    let mut closers = Vec::new();
    let mut outside = StringTracker::default();
    for (at, byte) in text.bytes().enumerate() {
        if !outside.of_strings(byte) {
            continue;
        }
        match byte {
            b'{' | b'[' if closers.len() == MAX_DEPTH => return None,
            b'{' => closers.push(b'}'),
            b'[' => closers.push(b']'),
            b'}' | b']' => {
                if closers.pop() != Some(byte) {
                    return None;
                }
                if closers.is_empty() {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The same text without commas that stand right before a closer. `None`: there are no such commas.
pub(super) fn without_trailing_commas(text: &str) -> Option<String> {
    let mut outside = StringTracker::default();
    let mut mended = String::new();
    let mut kept = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !outside.of_strings(byte) || byte != b',' {
            continue;
        }
        let next = text[at + 1..].trim_start_matches([' ', '\t', '\r', '\n']);
        if next.starts_with(['}', ']']) {
            mended.push_str(&text[kept..at]);
            kept = at + 1;
        }
    }
    (kept > 0).then(|| mended + &text[kept..])
}

/// Follows a text byte by byte and knows which bytes are outside of strings.
#[derive(Default)]
struct StringTracker {
    in_string: bool,
    escaped: bool,
}

impl StringTracker {
    fn of_strings(&mut self, byte: u8) -> bool {
        let was_in_string = self.in_string;
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ => {}
        }
        !was_in_string && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_ends_with_its_own_closer() {
        let check = |text: &str, region: Option<&str>| {
            assert_eq!(balanced_len(text).map(|end| &text[..end]), region, "{text}");
        };
        check("{} tail", Some("{}"));
        check(r#"{"a":[1,{"b":2}]}}"#, Some(r#"{"a":[1,{"b":2}]}"#));
        check(r#"{"}":"\"}"} tail"#, Some(r#"{"}":"\"}"}"#));
        check(r#"{"a":[1}]"#, None);
        check(r#"{"a":1"#, None);
        check(&"[".repeat(1000), None);
    }

    #[test]
    fn only_commas_before_a_closer_go() {
        let check = |text: &str, mended: Option<&str>| {
            assert_eq!(without_trailing_commas(text).as_deref(), mended, "{text}");
        };
        check(r#"{"a":[1,2,],}"#, Some(r#"{"a":[1,2]}"#));
        check("[1,\r\n\t ]", Some("[1\r\n\t ]"));
        check(r#"{"a":"x,}"}"#, None);
        check("[1,,]", Some("[1,]"));
    }
}
