//! Parses `.env` files.
//!
//! Nothing is substituted: `${OPENAI_API_KEY}` in the `.env` of an untrusted repository is literal text. Common
//! parsers expand it from the process environment, which would leak the user's secrets to the author of the file.
//! That is why Windlass has its own parser.

use super::names;

/// The value of a variable and its line.
pub(super) struct Variable {
    pub(super) value: String,
    pub(super) line: usize,
}

/// A line that is not a valid variable.
pub(super) struct LineError {
    pub(super) line: usize,
    pub(super) problem: &'static str,
}

/// Parses the variables of a file, in order, and the invalid lines.
pub(super) fn parse(text: &str) -> Vec<Result<(String, Variable), LineError>> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let (item, after) = statement(rest);
        match item {
            Ok(Some((name, value))) => found.push(Ok((name, Variable { value, line }))),
            Ok(None) => {}
            Err(problem) => found.push(Err(LineError { line, problem })),
        }
        let consumed = &rest[..rest.len() - after.len()];
        line += consumed.matches('\n').count();
        rest = after;
    }
    found
}

type Pair = (String, String);

/// Parses one statement, which may span lines inside quotes, and returns the text after its line.
fn statement(text: &str) -> (Result<Option<Pair>, &'static str>, &str) {
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return (Ok(None), after);
    }
    let Some((name, _)) = line.split_once('=') else {
        return (Err("expected NAME=value"), after);
    };
    let name = name.trim();
    let name = name.strip_prefix("export ").map_or(name, str::trim_start);
    if !names::is_variable(name) {
        return (
            Err("the name before `=` is not a valid variable name"),
            after,
        );
    }
    let start = text.find('=').map_or(text.len(), |at| at + 1);
    match value(&text[start..]) {
        Ok((value, after)) => (Ok(Some((name.to_owned(), value))), after),
        Err(problem) => (Err(problem), after),
    }
}

/// Parses the value after `=`, and returns the text after its line.
fn value(text: &str) -> Result<(String, &str), &'static str> {
    let text = text.trim_start_matches([' ', '\t']);
    let (value, rest) = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted(&text[1..], quote)?,
        _ => {
            let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
            return Ok((without_comment(line).to_owned(), rest));
        }
    };
    let (trailing, after) = rest.split_once('\n').unwrap_or((rest, ""));
    let trailing = trailing.trim();
    if trailing.is_empty() || trailing.starts_with('#') {
        Ok((value, after))
    } else {
        Err("unexpected text after the closing quote")
    }
}

/// Parses the text up to the closing quote. A backslash is an escape only in double quotes.
fn quoted(text: &str, quote: char) -> Result<(String, &str), &'static str> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Ok((value, &text[at + 1..])),
            '\\' if quote == '"' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, 't')) => value.push('\t'),
                Some((_, c @ ('"' | '\\' | '$' | '\''))) => value.push(c),
                _ => return Err(r#"unknown escape: in double quotes write \\ for a backslash"#),
            },
            _ => value.push(c),
        }
    }
    Err("the quote is never closed")
}

/// Removes a comment from an unquoted value: it starts at a `#` after a space.
fn without_comment(line: &str) -> &str {
    let end = line
        .match_indices('#')
        .find(|(at, _)| line[..*at].ends_with([' ', '\t']) || *at == 0);
    line[..end.map_or(line.len(), |(at, _)| at)].trim()
}
