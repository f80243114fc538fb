//! Finds bold, italic, struck and code spans in a line of Markdown. Pure.

use anstyle::{AnsiColor, Style};

const CODE: Style = AnsiColor::Cyan.on_default();

/// Maximum length of a span before its end arrives. What is longer is written as it is.
const MAX_OPEN_SPAN: usize = 2000;

/// Passes the parts of a line to `write`, with their styles, and returns how many bytes it used. As long as the line is
/// not complete, a span that may still be closed is not used.
pub(super) fn render(line: &str, is_complete: bool, write: &mut dyn FnMut(&str, Style)) -> usize {
    let mut at = 0;
    let mut before = ' ';
    while at < line.len() {
        let rest = &line[at..];
        let plain = rest.find(['*', '_', '`', '~', '\\']).unwrap_or(rest.len());
        if plain > 0 {
            write(&rest[..plain], Style::new());
            before = rest[..plain].chars().next_back().unwrap_or(before);
            at += plain;
            continue;
        }
        match span_at(rest, before, is_complete || rest.len() > MAX_OPEN_SPAN) {
            InlineSpan::Undecided => return at,
            InlineSpan::Literal(length) => {
                write(&rest[..length], Style::new());
                before = rest[..length].chars().next_back().unwrap_or(before);
                at += length;
            }
            InlineSpan::Styled { inner, used, style } => {
                if style == CODE {
                    write(inner, style);
                } else {
                    render(inner, true, &mut |text, inner| {
                        let effects = inner.get_effects() | style.get_effects();
                        write(text, inner.effects(effects));
                    });
                }
                before = rest[..used].chars().next_back().unwrap_or(before);
                at += used;
            }
        }
    }
    at
}

enum InlineSpan<'a> {
    Undecided,
    /// This many bytes are plain text.
    Literal(usize),
    Styled {
        inner: &'a str,
        used: usize,
        style: Style,
    },
}

/// Reads the span that may start here.
fn span_at(text: &str, before: char, is_complete: bool) -> InlineSpan<'_> {
    let mark = text.chars().next().unwrap_or(' ');
    if mark == '\\' {
        // The next character is not a mark.
        let next = text[1..].chars().next();
        return match next {
            None if !is_complete => InlineSpan::Undecided,
            Some(next) if next.is_ascii_punctuation() => InlineSpan::Literal(2),
            _ => InlineSpan::Literal(1),
        };
    }
    let run = text.chars().take_while(|c| *c == mark).count();
    let Some(next) = text[run..].chars().next() else {
        return if is_complete {
            InlineSpan::Literal(run)
        } else {
            InlineSpan::Undecided
        };
    };
    let style = match (mark, run) {
        ('`', _) => CODE,
        ('*' | '_', 1) => Style::new().italic(),
        ('*' | '_', 2) => Style::new().bold(),
        ('*' | '_', 3) => Style::new().bold().italic(),
        ('~', 2) => Style::new().strikethrough(),
        _ => return InlineSpan::Literal(run),
    };
    let opens = mark == '`'
        || !next.is_whitespace() && (mark != '_' || !(before.is_alphanumeric() || before == '_'));
    if !opens {
        return InlineSpan::Literal(run);
    }
    match find_end(text, mark, run, is_complete) {
        Some(Ok(end)) => InlineSpan::Styled {
            inner: &text[run..end],
            used: end + run,
            style,
        },
        Some(Err(())) => InlineSpan::Undecided,
        None if is_complete => InlineSpan::Literal(run),
        None => InlineSpan::Undecided,
    }
}

/// Returns where the closing marks start, or an error if that depends on what follows.
fn find_end(text: &str, mark: char, run: usize, is_complete: bool) -> Option<Result<usize, ()>> {
    let mut at = run;
    while let Some(found) = text[at..].find(mark) {
        let start = at + found;
        let length = text[start..].chars().take_while(|c| *c == mark).count();
        let after = text[start + length..].chars().next();
        if after.is_none() && !is_complete {
            return Some(Err(()));
        }
        let inner_end = text[..start].chars().next_back().unwrap_or(' ');
        let closes = mark == '`'
            || !inner_end.is_whitespace()
                && (mark != '_' || !after.is_some_and(|c| c.is_alphanumeric()));
        if length == run && start > run && closes {
            return Some(Ok(start));
        }
        at = start + length;
    }
    None
}
