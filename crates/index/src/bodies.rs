//! Leaves out the bodies of C functions and the values of C variables before the parse.
//!
//! Nearly all of a C file is inside of them, where nothing is defined, and the parser spends most of its time there.
//! A scan for braces is many times as fast. It knows strings, comments and directives. Where the braces of a file do
//! not match, the whole file is parsed.

/// Returns the text without the bodies of its functions and the values of its variables, or `None` if their ends are
/// not certain. Every line keeps its
/// number, and macros that are defined inside of a function are kept.
pub(crate) fn without_bodies(text: &[u8]) -> Option<Vec<u8>> {
    let mut scan = CodeScan { text, at: 0 };
    let mut kept = Vec::with_capacity(text.len() / 2);
    let (mut from, mut before) = (0, b'\n');
    while let Some(token) = scan.next() {
        match token {
            CodeToken::Byte(b'{') if matches!(before, b')' | b'=') => {
                kept.extend_from_slice(&text[from..scan.at]);
                skip_body(&mut scan, &mut kept)?;
                from = scan.at - 1;
                before = b'}';
            }
            CodeToken::Byte(byte) => before = byte,
            CodeToken::Directive(_) => {}
        }
    }
    kept.extend_from_slice(&text[from..]);
    Some(kept)
}

/// Reads to the end of a body after its opening brace, and keeps its line breaks and its macros.
fn skip_body(scan: &mut CodeScan<'_>, kept: &mut Vec<u8>) -> Option<()> {
    let text = scan.text;
    let (mut depth, mut from) = (1_usize, scan.at);
    // The depth at the start of each open `#if`. Its branches are alternatives and start at the same depth.
    let mut branches = Vec::new();
    let keep_lines = |kept: &mut Vec<u8>, skipped: &[u8]| {
        kept.extend(skipped.iter().filter(|byte| **byte == b'\n'));
    };
    loop {
        match scan.next()? {
            CodeToken::Byte(b'{') => depth += 1,
            CodeToken::Byte(b'}') => {
                depth -= 1;
                if depth == 0 {
                    keep_lines(kept, &text[from..scan.at]);
                    return Some(());
                }
                // A brace at the start of a line ends a function, so an earlier one is missing.
                if scan.at >= 2 && text[scan.at - 2] == b'\n' {
                    return None;
                }
            }
            CodeToken::Byte(_) => {}
            CodeToken::Directive(line) => match directive(line) {
                b"if" | b"ifdef" | b"ifndef" => branches.push(depth),
                b"else" | b"elif" => depth = *branches.last()?,
                b"endif" => {
                    branches.pop()?;
                }
                b"define" => {
                    keep_lines(kept, &text[from..scan.at - line.len()]);
                    kept.extend_from_slice(line);
                    from = scan.at;
                }
                _ => {}
            },
        }
    }
}

/// Returns the name of a directive.
fn directive(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix(b"#").unwrap_or(line).trim_ascii_start();
    let end = line.iter().position(|byte| !byte.is_ascii_alphabetic());
    &line[..end.unwrap_or(line.len())]
}

/// A part of the text outside of comments, strings and white space.
enum CodeToken<'a> {
    Byte(u8),
    /// A line that starts with `#`, with the lines that continue it.
    Directive(&'a [u8]),
}

/// Reads a text from `at` on.
struct CodeScan<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> CodeScan<'a> {
    /// Returns the next token. A string is the quote that ends it.
    fn next(&mut self) -> Option<CodeToken<'a>> {
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {}
                b'/' => match self.text.get(self.at) {
                    Some(b'*') => self.skip_past(b"*/"),
                    Some(b'/') => self.skip_past(b"\n"),
                    _ => return Some(CodeToken::Byte(byte)),
                },
                b'"' | b'\'' => {
                    self.skip_string(byte);
                    return Some(CodeToken::Byte(byte));
                }
                b'#' if self.is_first_of_line() => {
                    let start = self.at - 1;
                    self.skip_line();
                    return Some(CodeToken::Directive(&self.text[start..self.at]));
                }
                _ => return Some(CodeToken::Byte(byte)),
            }
        }
    }

    fn is_first_of_line(&self) -> bool {
        let before = self.text[..self.at - 1].iter().rev();
        let mut before = before.skip_while(|byte| matches!(**byte, b' ' | b'\t'));
        before.next().is_none_or(|byte| *byte == b'\n')
    }

    fn skip_past(&mut self, end: &[u8]) {
        let rest = &self.text[self.at..];
        let found = rest.windows(end.len()).position(|window| window == end);
        self.at = found.map_or(self.text.len(), |found| self.at + found + end.len());
    }

    /// Skips to the end of a string or of its line.
    fn skip_string(&mut self, quote: u8) {
        while let Some(byte) = self.text.get(self.at) {
            self.at += 1;
            match *byte {
                b'\\' => self.at += 1,
                b'\n' => return,
                byte if byte == quote => return,
                _ => {}
            }
        }
        self.at = self.at.min(self.text.len());
    }

    /// Skips to the end of a line that a backslash or a comment can continue.
    fn skip_line(&mut self) {
        while let Some(byte) = self.text.get(self.at) {
            self.at += 1;
            match *byte {
                b'\\' if self.text[self.at..].starts_with(b"\r\n") => self.at += 2,
                b'\\' => self.at += 1,
                b'/' if self.text.get(self.at) == Some(&b'*') => self.skip_past(b"*/"),
                b'\n' => return,
                _ => {}
            }
        }
        self.at = self.at.min(self.text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let kept = without_bodies(text.as_bytes());
        let kept = kept.map(|kept| String::from_utf8(kept).unwrap());
        assert_eq!(kept.as_deref(), expected);
    }

    #[test]
    fn bodies_are_left_out_and_lines_stay() {
        check(
            "int f(int a)\n{\n  if (a) { g(); }\n  return 1;\n}\nstruct s { int b; };\nint x[] = { 1,\n 2 };\n",
            Some("int f(int a)\n{\n\n\n}\nstruct s { int b; };\nint x[] = {\n};\n"),
        );
        check(
            "int f() { return '}' + '\\''; /* } */ // }\n char *s = \"}\\\"\"; } int y;",
            Some("int f() {\n} int y;"),
        );
    }

    #[test]
    fn macros_and_branches_are_understood() {
        check(
            "#define LOOP(x) \\\n  while (x) {\nint f()\n{\n#define IN 1\n#ifdef A\n  if (a) {\n#else\n  if (b) {\n#endif\n  }\n}\nint z;\n",
            Some(
                "#define LOOP(x) \\\n  while (x) {\nint f()\n{\n#define IN 1\n\n\n\n\n\n\n}\nint z;\n",
            ),
        );
    }

    #[test]
    fn uncertain_ends_are_refused() {
        check("int f() { if (a) {\n}\nint z;\n", None);
        check("int f() { \"", None);
        check("int f() {\n#endif\n}", None);
    }
}
