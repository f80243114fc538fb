//! Rows as comma-separated values.

use std::fmt::Write as _;

use windlass_tasks::UsageRow;

use super::RowKind;

/// Returns a heading and a line for each row.
pub(super) fn lines(by: RowKind, rows: &[UsageRow]) -> Vec<String> {
    let mut lines = vec![format!(
        "{},calls,input_tokens,cache_read_tokens,cache_write_tokens,output_tokens,reasoning_tokens,\
         calls_with_unknown_tokens,cost_usd,calls_with_unknown_cost,calls_not_done,seconds",
        by.heading()
    )];
    for row in rows {
        let mut line = quoted(row.key.as_deref().unwrap_or_default());
        let numbers = [
            row.calls,
            row.input_tokens,
            row.cache_read_tokens,
            row.cache_write_tokens,
            row.output_tokens,
            row.reasoning_tokens,
            row.calls_with_unknown_tokens,
        ];
        for number in numbers {
            let _ = write!(line, ",{number}");
        }
        let (unknown, not_done) = (row.calls_with_unknown_cost, row.calls_not_done);
        let cost = if unknown == row.calls {
            String::new()
        } else {
            format!("{:.9}", row.cost_usd)
        };
        let _ = write!(line, ",{cost},{unknown},{not_done},{:.3}", row.seconds);
        lines.push(line);
    }
    lines
}

/// Returns a value for CSV. A spreadsheet must not read it as a formula.
fn quoted(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn csv_values_are_quoted_and_no_formulas() {
        for (text, expected) in [
            ("gpt-5", "gpt-5"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
