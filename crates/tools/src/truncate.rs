//! Truncation of text: keeps the head and the tail, and states how much is missing.

/// Returns the text, or its head and tail with a mark between them if it exceeds the limit.
pub(crate) fn truncate_middle(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let head = floor(&text, limit - limit / 2);
    let tail = ceil(&text, text.len() - limit / 2);
    join(&text[..head], (tail - head) as u64, &text[tail..])
}

/// Joins the head and the tail with a mark for the missing bytes.
pub(crate) fn join(head: &str, cut: u64, tail: &str) -> String {
    format!("{head}[… {cut} bytes cut …]{tail}")
}

/// Returns one line, truncated to the limit.
pub(crate) fn truncate_line(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = floor(text, limit);
    format!("{}[… {} bytes cut …]", &text[..end], text.len() - end)
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p12_long_text_loses_its_middle_with_a_mark() {
        assert_eq!(truncate_middle("abcdef".into(), 6), "abcdef");
        assert_eq!(
            truncate_middle("abcdefgh".into(), 4),
            "ab[… 4 bytes cut …]gh"
        );
        assert_eq!(truncate_middle("ééé".into(), 3), "é[… 4 bytes cut …]");
        assert_eq!(truncate_line("abcdef", 3), "abc[… 3 bytes cut …]");
    }
}
