//! Text that is too long: its head and its tail, with a mark between them that states how many bytes are missing.

/// Returns the text, or if it has more than `max_len` bytes, that many of its head and tail with a mark between them.
pub fn cut_middle(text: String, max_len: usize) -> String {
    cut_with_mark(text, max_len, cut_mark)
}

/// Returns the mark between a head and a tail.
pub fn cut_mark(missing: u64) -> String {
    format!("[… {missing} bytes cut …]")
}

/// Like [`cut_middle`], with another mark.
pub(crate) fn cut_with_mark(text: String, max_len: usize, mark: fn(u64) -> String) -> String {
    if text.len() <= max_len {
        return text;
    }
    let head = text.floor_char_boundary(max_len / 2);
    let tail = text.ceil_char_boundary(text.len() - max_len / 2);
    let mark = mark(missing_bytes(&text[head..tail]));
    [&text[..head], &mark, &text[tail..]].concat()
}

/// Returns the length of a removed part. Text that was cut before has a mark in it, which counts as the bytes that it
/// replaced.
fn missing_bytes(part: &str) -> u64 {
    let marks = part.match_indices(" bytes cut").filter_map(|(end, _)| {
        let digits = part[..end].trim_end_matches(|c: char| c.is_ascii_digit());
        part[digits.len()..end].parse::<u64>().ok()
    });
    marks.fold(part.len() as u64, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_keeps_its_head_and_tail() {
        let cut = |text: &str, max_len| cut_middle(text.to_owned(), max_len);
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefgh", 4), "ab[… 4 bytes cut …]gh");
        assert_eq!(cut("éééé", 5), "é[… 4 bytes cut …]é");
        assert_eq!(cut("abc", 0), "[… 3 bytes cut …]");
    }

    #[test]
    fn text_that_was_cut_before_states_all_missing_bytes() {
        let twice = cut_middle(cut_middle("x".repeat(5_000_000), 500_000), 100_000);
        let (_, rest) = twice.split_once("[… ").unwrap();
        let (missing, _) = rest.split_once(" bytes cut …]").unwrap();
        // The first mark was counted too.
        let missing: usize = missing.parse().unwrap();
        assert!(
            (4_900_000..4_900_100).contains(&missing),
            "{missing} bytes missing"
        );
    }
}
