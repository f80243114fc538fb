//! Statements for a connection through a pooler, such as PgBouncer with `pool_mode = transaction`.
//!
//! A pooler gives each transaction to any of its connections to the server. So nothing that belongs to a session may be used:
//! no prepared statement, no setting, no `LISTEN`. A message with several statements is one transaction, and it can set what
//! it needs for itself. So each statement is sent in one message, after its settings and with its values in its text:
//! that needs no prepared statement and no additional round trip. Advisory locks are those of transactions everywhere.

use crate::sql::Arg;

/// Returns the statements that make these settings until the end of the transaction.
pub(crate) fn transaction_settings(settings: &[(&str, &str)]) -> String {
    settings
        .iter()
        .map(|(name, value)| format!("SET LOCAL {name} = {value}; "))
        .collect()
}

/// Replaces `$1`, `$2` … in a statement by the values. The statement itself is never a user's text.
pub(crate) fn with_values(statement: &str, args: &[Arg]) -> String {
    if args.is_empty() {
        return statement.to_owned();
    }
    let mut text = String::with_capacity(statement.len() + 32 * args.len());
    let mut quote = None;
    let mut rest = statement.chars().peekable();
    while let Some(next) = rest.next() {
        match quote {
            // A doubled quote ends the text and starts it again.
            Some(open) if next == open => quote = None,
            None if next == '\'' || next == '"' => quote = Some(next),
            None if next == '$' => {
                let mut number = 0_usize;
                while let Some(digit) = rest.peek().and_then(|next| next.to_digit(10)) {
                    number = number.saturating_mul(10).saturating_add(digit as usize);
                    rest.next();
                }
                match number.checked_sub(1).and_then(|index| args.get(index)) {
                    Some(arg) => push_value(&mut text, arg),
                    // The server rejects the statement.
                    None => text.push('$'),
                }
                continue;
            }
            _ => {}
        }
        text.push(next);
    }
    text
}

/// Writes a value with the type that it has as an argument.
fn push_value(text: &mut String, arg: &Arg) {
    match arg {
        // In quotes, because a minus before a negative number would start a comment.
        Arg::Int(Some(value)) => text.push_str(&format!("(CAST('{value}' AS BIGINT))")),
        Arg::Int(None) => text.push_str("(CAST(NULL AS BIGINT))"),
        Arg::Text(Some(value)) => {
            // In this form a backslash means the same whatever the settings of the server are. No other byte than that of
            // a quote is one: the encoding of every connection is UTF-8.
            text.push_str("(CAST(E'");
            for c in value.chars() {
                match c {
                    '\'' | '\\' => text.extend([c, c]),
                    // The message would end here. A value has none: both databases store another character for it.
                    '\0' => text.push('\u{FFFD}'),
                    c => text.push(c),
                }
            }
            text.push_str("' AS TEXT))");
        }
        Arg::Text(None) => text.push_str("(CAST(NULL AS TEXT))"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Arg {
        Arg::Text(Some(value.to_owned()))
    }

    #[test]
    fn values_replace_their_numbers_and_nothing_in_quotes() {
        let args = [
            Arg::Int(Some(-7)),
            text("a"),
            Arg::Int(None),
            Arg::Text(None),
        ];
        assert_eq!(
            with_values("SELECT $1-$2, '$1', \"$2\", 'it''s $1', $3, $4, $10", &args),
            "SELECT (CAST('-7' AS BIGINT))-(CAST(E'a' AS TEXT)), '$1', \"$2\", 'it''s $1', \
             (CAST(NULL AS BIGINT)), (CAST(NULL AS TEXT)), $"
        );
        assert_eq!(with_values("SELECT $1", &[]), "SELECT $1");
    }

    #[test]
    fn value_cannot_end_its_text() {
        let value = r"\'; DROP TABLE task; -- ' \\' $1 \";
        assert_eq!(
            with_values("SELECT $1", &[text(value)]),
            r"SELECT (CAST(E'\\''; DROP TABLE task; -- '' \\\\'' $1 \\' AS TEXT))"
        );
        assert_eq!(
            with_values("SELECT $1", &[text("a\0b")]),
            "SELECT (CAST(E'a\u{FFFD}b' AS TEXT))"
        );
    }

    #[test]
    fn settings_end_with_the_transaction() {
        let settings = transaction_settings(&[("lock_timeout", "'5s'"), ("jit", "off")]);
        assert_eq!(
            settings,
            "SET LOCAL lock_timeout = '5s'; SET LOCAL jit = off; "
        );
    }
}
