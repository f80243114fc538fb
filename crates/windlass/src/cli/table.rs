//! Tables that fit the terminal.

use std::borrow::Cow;
use std::io;

use anstyle::Style;
use windlass_core::escape_line;

use super::console::{Console, QUIET, STRONG};

/// Narrower columns than this are not wrapped: each row becomes a block of lines instead.
const MIN_LAST_COLUMN: usize = 16;

/// A cell of a table.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(super) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self {
            text: text.into(),
            style,
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::styled(text, Style::new())
    }
}

/// Writes a table to stdout that fits the terminal.
pub(super) fn print<const N: usize>(
    console: &Console,
    heading: [&str; N],
    rows: &[[Cell; N]],
) -> io::Result<()> {
    for line in lines(heading, rows, console.width()) {
        console.line(&line)?;
    }
    Ok(())
}

/// Formats a table with aligned columns. If it is wider than `max` characters, the last column is wrapped between words;
/// if that is too narrow, each row becomes a block with one line per cell. Columns without any text are omitted.
fn lines<const N: usize>(
    heading: [&str; N],
    rows: &[[Cell; N]],
    max: Option<usize>,
) -> Vec<String> {
    let texts: Vec<[Cow<'_, str>; N]> = rows
        .iter()
        .map(|row| row.each_ref().map(|cell| escape_line(&cell.text)))
        .collect();
    let is_used = |column: &usize| texts.iter().any(|row| !row[*column].is_empty());
    let columns: Vec<usize> = (0..N).filter(is_used).collect();
    let Some((last, fixed)) = columns.split_last() else {
        return vec![heading.join("  ")];
    };
    let width = |column: &usize| {
        let cells = texts.iter().map(|row| row[*column].chars().count());
        cells.chain([heading[*column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = fixed.iter().map(width).collect();
    let indent: usize = widths.iter().map(|width| width + 2).sum();
    let room = max.map_or(usize::MAX, |max| max.saturating_sub(indent));
    if room < MIN_LAST_COLUMN.min(width(last)) {
        return blocks(heading, rows, &texts, &columns, max);
    }
    let mut lines = Vec::new();
    let mut first = String::new();
    for (column, width) in fixed.iter().zip(&widths) {
        first.push_str(&format!("{:width$}  ", heading[*column]));
    }
    lines.push(format!("{STRONG}{first}{}{STRONG:#}", heading[*last]));
    for (row, texts) in rows.iter().zip(&texts) {
        let mut line = String::new();
        for (column, width) in fixed.iter().zip(&widths) {
            let style = row[*column].style;
            let text = &texts[*column];
            let padding = " ".repeat(width.saturating_sub(text.chars().count()) + 2);
            line.push_str(&format!("{style}{text}{style:#}{padding}"));
        }
        let style = row[*last].style;
        for (index, part) in wrap(&texts[*last], room).iter().enumerate() {
            let start = match index {
                0 => std::mem::take(&mut line),
                _ => " ".repeat(indent),
            };
            let whole = format!("{start}{style}{part}{style:#}");
            lines.push(whole.trim_end().to_owned());
        }
    }
    lines
}

/// Formats each row as a block: the first cell, then a line for each other cell that has a text.
fn blocks<const N: usize>(
    heading: [&str; N],
    rows: &[[Cell; N]],
    texts: &[[Cow<'_, str>; N]],
    columns: &[usize],
    max: Option<usize>,
) -> Vec<String> {
    let names = columns.iter().map(|column| heading[*column].len());
    let width = names.max().unwrap_or(0);
    let indent = width + 4;
    let room = max.map_or(usize::MAX, |max| max.saturating_sub(indent).max(1));
    let mut lines = Vec::new();
    for (row, texts) in rows.iter().zip(texts) {
        let mut used = columns.iter().filter(|column| !texts[**column].is_empty());
        if let Some(first) = used.next() {
            let style = row[*first].style;
            lines.push(format!(
                "{STRONG}{style}{}{style:#}{STRONG:#}",
                texts[*first]
            ));
        }
        for column in used {
            let style = row[*column].style;
            for (index, part) in wrap(&texts[*column], room).iter().enumerate() {
                let name = if index == 0 { heading[*column] } else { "" };
                lines.push(format!(
                    "  {QUIET}{name:width$}{QUIET:#}  {style}{part}{style:#}"
                ));
            }
        }
    }
    lines
}

/// Breaks a text between words into lines of at most `width` characters. Only a word that is longer than a line is
/// broken itself. Always returns a line.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        let space = usize::from(used > 0);
        if used + space + rest.len() > width && used > 0 {
            lines.push(String::new());
            used = 0;
        } else if space == 1 {
            push(&mut lines, " ");
            used += 1;
        }
        while rest.len() > width {
            let tail = rest.split_off(width);
            push(&mut lines, &rest.into_iter().collect::<String>());
            lines.push(String::new());
            rest = tail;
        }
        used += rest.len();
        push(&mut lines, &rest.into_iter().collect::<String>());
    }
    lines
}

fn push(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn plain<const N: usize>(heading: [&str; N], rows: &[[&str; N]], max: usize) -> String {
        let rows: Vec<[Cell; N]> = rows
            .iter()
            .map(|row| row.map(|text| Cell::from(text.to_owned())))
            .collect();
        let text = lines(heading, &rows, Some(max)).join("\n");
        let text = anstream::adapter::strip_str(&text).to_string();
        for line in text.lines() {
            assert!(line.chars().count() <= max, "{line:?} is too long");
        }
        text
    }

    #[test]
    fn last_column_is_wrapped_between_words() {
        let rows = [
            ["1", "pending", "", "Greet the world where no name is given"],
            ["12", "completed", "", "Short"],
        ];
        expect![[r#"
            task  status     title
            1     pending    Greet the world
                             where no name is
                             given
            12    completed  Short"#]]
        .assert_eq(&plain(["task", "status", "cost", "title"], &rows, 34));
    }

    #[test]
    fn rows_become_blocks_where_columns_have_no_room() {
        let rows = [["claude-agent-acp", "claude", "not in PATH: install it"]];
        expect![[r#"
            claude-agent-acp
              backend  claude
              health   not in PATH:
                       install it"#]]
        .assert_eq(&plain(["agent", "backend", "health"], &rows, 24));
    }

    #[test]
    fn long_words_are_broken() {
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("", 3), [""]);
        assert_eq!(wrap("a b", 3), ["a b"]);
    }
}
