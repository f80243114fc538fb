//! Finds the end of a bracketed region, and removes trailing commas, the only error that is safe to repair.

use super::json::MAX_DEPTH;

/// Returns the length of the bracketed region at the start of the text, including its closing bracket.
///
/// Brackets in strings do not count. Returns `None` if a bracket is closed by the wrong bracket or never
/// closed, or if the nesting is too deep.
pub(super) fn balanced_len(text: &str) -> Option<usize> {
    let mut closers = Vec::new();
    let mut strings = StringTracker::default();
    for (at, byte) in text.bytes().enumerate() {
        if !strings.is_outside(byte) {
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

/// Returns the text without commas directly before a closing bracket, or `None` if it has no such commas.
pub(super) fn without_trailing_commas(text: &str) -> Option<String> {
    let mut strings = StringTracker::default();
    let mut repaired = String::new();
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !strings.is_outside(byte) || byte != b',' {
            continue;
        }
        let next = text[at + 1..].trim_start_matches([' ', '\t', '\r', '\n']);
        if next.starts_with(['}', ']']) {
            repaired.push_str(&text[copied..at]);
            copied = at + 1;
        }
    }
    (copied > 0).then(|| repaired + &text[copied..])
}

/// Tracks which bytes of a text are outside of strings.
#[derive(Default)]
struct StringTracker {
    in_string: bool,
    escaped: bool,
}

impl StringTracker {
    /// Processes the next byte. Returns `true` if it is outside of strings.
    fn is_outside(&mut self, byte: u8) -> bool {
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
    fn region_ends_at_matching_bracket() {
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
    fn only_commas_before_closing_brackets_are_removed() {
        let check = |text: &str, repaired: Option<&str>| {
            assert_eq!(without_trailing_commas(text).as_deref(), repaired, "{text}");
        };
        check(r#"{"a":[1,2,],}"#, Some(r#"{"a":[1,2]}"#));
        check("[1,\r\n\t ]", Some("[1\r\n\t ]"));
        check(r#"{"a":"x,}"}"#, None);
        check("[1,,]", Some("[1,]"));
    }
}
