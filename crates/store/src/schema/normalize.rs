//! Normal form of a `CREATE` statement, to compare what a file contains with what Windlass creates.

/// Returns the statement without comments and without blanks that have no meaning. Quoted text does not change.
///
/// Comments differ between releases of the same migration, and SQLite stores a statement as it was written.
pub(super) fn normalize(statement: &str) -> String {
    let mut normal = String::with_capacity(statement.len());
    let mut rest = statement;
    // A blank is written only between two words.
    let mut blank = false;
    while let Some(c) = rest.chars().next() {
        let len = if let Some(skipped) = skipped_len(rest) {
            blank = true;
            skipped
        } else {
            let token = token_len(rest, c);
            if blank && is_word(c) && normal.ends_with(is_word) {
                normal.push(' ');
            }
            normal.push_str(&rest[..token]);
            blank = false;
            token
        };
        rest = &rest[len..];
    }
    normal
}

/// Returns the length of the blanks or the comment at the start of the text.
fn skipped_len(text: &str) -> Option<usize> {
    if let Some(comment) = text.strip_prefix("--") {
        return Some(comment.find('\n').map_or(text.len(), |end| end + 3));
    }
    if let Some(comment) = text.strip_prefix("/*") {
        return Some(comment.find("*/").map_or(text.len(), |end| end + 4));
    }
    let blanks = text.len() - text.trim_start().len();
    (blanks > 0).then_some(blanks)
}

/// Returns the length of the quoted text at the start, or else of the first character.
fn token_len(text: &str, first: char) -> usize {
    let close = match first {
        '\'' | '"' | '`' => first,
        '[' => ']',
        c => return c.len_utf8(),
    };
    // A doubled quote is two quoted texts in a row, which gives the same result.
    text[1..].find(close).map_or(text.len(), |end| end + 2)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn comments_and_blanks_do_not_matter() {
        let one = "CREATE TABLE t (\n  -- a note\n  a BIGINT  NOT NULL, /* b */ b TEXT\n)";
        let two = "CREATE TABLE t(a BIGINT NOT NULL,b TEXT)";
        assert_eq!(normalize(one), normalize(two));
        assert_eq!(normalize(one), two);
    }

    #[test]
    fn words_and_quoted_text_matter() {
        for (one, two) in [
            ("a BIGINT", "aBIGINT"),
            ("'a  b'", "'a b'"),
            ("'a -- b'", "'a "),
            ("\"a/*b*/\"", "\"a\""),
            ("[a  b]", "[a b]"),
            ("'it''s  x'", "'it''s x'"),
            ("a", "A"),
        ] {
            assert_ne!(normalize(one), normalize(two), "{one} {two}");
        }
    }

    #[test]
    fn unterminated_text_is_kept_to_its_end() {
        assert_eq!(normalize("a 'b  c"), "a'b  c");
        assert_eq!(normalize("a -- b"), "a");
        assert_eq!(normalize("a /* b"), "a");
        assert_eq!(normalize(""), "");
    }
}
