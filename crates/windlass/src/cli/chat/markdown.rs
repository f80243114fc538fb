//! Renders Markdown on a terminal while it arrives. Pure.
//!
//! Text is written word by word, code line by line. A mark is replaced by a style only if it is complete: what is not
//! Markdown is written as it is, so that no text is lost. Tables are not changed.

use anstyle::{AnsiColor, Effects, Style};

use super::inline;
use super::wrap::Wrapper;

const CODE: Style = AnsiColor::Cyan.on_default();
const QUIET: Style = Style::new().dimmed();
const HEADING: Style = Style::new().bold();

/// Renders one message.
#[derive(Debug)]
pub(super) struct Markdown {
    out: Wrapper,
    /// The start of the current line, until its kind is known; then the part of it that is not written.
    pending: String,
    line: MarkdownLine,
    /// The marks that end the current code block.
    fence: Option<String>,
}

/// What kind of line is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkdownLine {
    /// Too few characters to know.
    Undecided,
    /// Text in this style.
    Text(Style),
    /// Written without changes.
    Verbatim(Style),
    /// The start or end of a code block, which is not written.
    Hidden,
}

/// The kind of a line, by its start.
enum LineStart {
    Undecided,
    /// Text in a style after a mark, which replaces this many bytes.
    Text {
        style: Style,
        mark: String,
        used: usize,
    },
    Verbatim(Style),
    /// A code block starts or ends with this line, which is not written.
    Fence(Option<String>),
    Rule,
}

impl Markdown {
    /// Creates a renderer for a terminal of this width.
    pub(super) fn new(width: usize) -> Self {
        Self {
            out: Wrapper::new(width),
            pending: String::new(),
            line: MarkdownLine::Undecided,
            fence: None,
        }
    }

    /// Returns `true` if nothing was written on the current line.
    pub(super) fn is_line_start(&self) -> bool {
        self.out.is_line_start() && self.pending.is_empty()
    }

    /// Adds text, in which control characters are escaped, and returns what can be written.
    pub(super) fn push(&mut self, text: &str) -> String {
        for part in text.split_inclusive('\n') {
            match part.strip_suffix('\n') {
                Some(part) => {
                    self.pending.push_str(part);
                    self.advance(true);
                    self.end_line();
                }
                None => {
                    self.pending.push_str(part);
                    self.advance(false);
                }
            }
        }
        self.out.take()
    }

    /// Ends the message and returns the rest of it, with a line end if there is anything on the line.
    pub(super) fn finish(&mut self) -> String {
        if !self.is_line_start() {
            self.advance(true);
            self.end_line();
        }
        self.fence = None;
        self.out.take()
    }

    /// Writes what is known of the current line.
    fn advance(&mut self, is_complete: bool) {
        if self.line == MarkdownLine::Undecided {
            match start_of(&self.pending, self.fence.as_deref(), is_complete) {
                LineStart::Undecided => return,
                LineStart::Text { style, mark, used } => {
                    self.pending.drain(..used);
                    self.out.raw(&mark, QUIET);
                    let hanging: String = mark
                        .chars()
                        .map(|c| if c == '│' { c } else { ' ' })
                        .collect();
                    self.out.set_indent(&hanging, QUIET);
                    self.line = MarkdownLine::Text(style);
                }
                LineStart::Verbatim(style) => {
                    if self.fence.is_some() {
                        self.out.raw("  ", Style::new());
                    }
                    self.line = MarkdownLine::Verbatim(style);
                }
                LineStart::Fence(fence) => {
                    self.fence = fence;
                    self.line = MarkdownLine::Hidden;
                }
                LineStart::Rule => {
                    self.pending.clear();
                    self.out.raw("────────", QUIET);
                    self.line = MarkdownLine::Verbatim(QUIET);
                }
            }
        }
        match self.line {
            MarkdownLine::Undecided => {}
            MarkdownLine::Hidden => self.pending.clear(),
            MarkdownLine::Verbatim(style) => {
                let text = std::mem::take(&mut self.pending);
                if !text.is_empty() {
                    self.out.raw(&text, style);
                }
            }
            MarkdownLine::Text(style) => {
                let out = &mut self.out;
                let used = inline::render(&self.pending, is_complete, &mut |text, inner| {
                    out.text(text, merge(style, inner));
                });
                self.pending.drain(..used);
            }
        }
    }

    fn end_line(&mut self) {
        if self.line != MarkdownLine::Hidden {
            self.out.newline();
        }
        self.line = MarkdownLine::Undecided;
        self.pending.clear();
    }
}

fn merge(outer: Style, inner: Style) -> Style {
    let effects = outer.get_effects() | inner.get_effects();
    inner.effects(effects)
}

/// Finds out how a line starts.
fn start_of(line: &str, fence: Option<&str>, is_complete: bool) -> LineStart {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let start = match fence {
        Some(fence) => code_start(text, fence, is_complete),
        None => block_start(text, indent),
    };
    match start {
        LineStart::Undecided if is_complete => plain(indent),
        // A longer line may still be something else.
        LineStart::Fence(_) | LineStart::Rule if !is_complete => LineStart::Undecided,
        start => start,
    }
}

/// Returns how a line of plain text starts.
fn plain(indent: usize) -> LineStart {
    LineStart::Text {
        style: Style::new(),
        mark: " ".repeat(indent),
        used: indent,
    }
}

/// Finds out whether a line in a code block ends the block.
fn code_start(text: &str, fence: &str, is_complete: bool) -> LineStart {
    let is_end = text.starts_with(fence) && text.trim_end().chars().all(|c| fence.contains(c));
    if is_end {
        LineStart::Fence(None)
    } else if fence.starts_with(text) && !is_complete {
        LineStart::Undecided
    } else {
        LineStart::Verbatim(CODE)
    }
}

/// Finds out which block a line, without its indent, starts.
fn block_start(text: &str, indent: usize) -> LineStart {
    let Some(first) = text.chars().next() else {
        return LineStart::Undecided;
    };
    let run = text.chars().take_while(|c| *c == first).count();
    let rest = &text[run * first.len_utf8()..];
    let spaces = " ".repeat(indent);
    match first {
        '#' if run <= 6 && rest.is_empty() => LineStart::Undecided,
        '#' if run <= 6 && rest.starts_with(' ') => LineStart::Text {
            style: if run == 1 {
                HEADING.effects(Effects::BOLD | Effects::UNDERLINE)
            } else {
                HEADING
            },
            mark: String::new(),
            used: indent + run + rest.len() - rest.trim_start_matches(' ').len(),
        },
        // Code on one line, such as ```x```, is not a block.
        '`' if run >= 3 && rest.contains('`') => plain(indent),
        '`' | '~' if run >= 3 => LineStart::Fence(Some(text[..run].to_owned())),
        '-' | '*' | '_' if run >= 3 && rest.trim().is_empty() => LineStart::Rule,
        '`' | '~' | '-' | '*' | '+' if rest.is_empty() => LineStart::Undecided,
        '-' | '*' | '+' if run == 1 && rest.starts_with(' ') => LineStart::Text {
            style: Style::new(),
            mark: format!("{spaces}• "),
            used: indent + 2,
        },
        '>' if run == 1 => match rest.chars().next() {
            None => LineStart::Undecided,
            Some(next) => LineStart::Text {
                style: QUIET,
                mark: format!("{spaces}│ "),
                used: indent + 1 + usize::from(next == ' '),
            },
        },
        '|' => LineStart::Verbatim(Style::new()),
        '0'..='9' => numbered_start(text, indent),
        _ => plain(indent),
    }
}

/// Finds out whether a line that starts with a digit is an entry of a list.
fn numbered_start(text: &str, indent: usize) -> LineStart {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    match &text.as_bytes()[digits..] {
        _ if digits > 9 => plain(indent),
        [] | [b'.' | b')'] => LineStart::Undecided,
        [b'.' | b')', b' ', ..] => LineStart::Text {
            style: Style::new(),
            mark: format!("{}{} ", " ".repeat(indent), &text[..=digits]),
            used: indent + digits + 2,
        },
        _ => plain(indent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders a text in chunks of this many characters, without styles.
    fn rendered(text: &str, chunk: usize, width: usize) -> String {
        let mut markdown = Markdown::new(width);
        let chars: Vec<char> = text.chars().collect();
        let mut out = String::new();
        for part in chars.chunks(chunk) {
            out += &markdown.push(&part.iter().collect::<String>());
        }
        out += &markdown.finish();
        anstream::adapter::strip_str(&out).to_string()
    }

    const EXAMPLE: &str = "# Title\n\nSome **bold** and `code_here`, snake_case stays.\n\n- one\n- two **x**\n  1. in\n\n> quoted text\n\n```rust\nfn main() {}\n\n```\n---\n| a | b |\n|---|---|\nend";

    #[test]
    fn blocks_and_spans_are_rendered() {
        let expected = "Title\n\nSome bold and code_here, snake_case stays.\n\n• one\n• two x\n  1. in\n\n│ quoted text\n\n  fn main() {}\n  \n────────\n| a | b |\n|---|---|\nend\n";
        assert_eq!(rendered(EXAMPLE, 1000, 80), expected);
    }

    #[test]
    fn chunks_make_no_difference() {
        let whole = rendered(EXAMPLE, 1000, 40);
        for chunk in 1..9 {
            assert_eq!(rendered(EXAMPLE, chunk, 40), whole, "{chunk}");
        }
    }

    #[test]
    fn what_is_not_markdown_is_not_lost() {
        for text in [
            "2 * 3 * 4 and **open and `open",
            "#hashtag #! -x *y",
            "a_b_c __init__.py ~5 ~~~",
            "\\*not italic\\* \\",
            "1) 2.5 3.\n-\n*\n>\n#",
            "```not closed\ncode **x**",
            "**",
        ] {
            let visible = |text: &str| -> String {
                text.chars()
                    .filter(|c| c.is_alphanumeric() || "!.\\".contains(*c))
                    .collect()
            };
            let shown = rendered(text, 3, 80);
            let expected = text.strip_prefix("```not closed").unwrap_or(text);
            assert_eq!(visible(&shown), visible(expected), "{shown}");
        }
        assert_eq!(rendered("2 * 3 and **open", 1, 80), "2 * 3 and **open\n");
        assert_eq!(rendered("a ` b", 1, 80), "a ` b\n");
    }

    #[test]
    fn lines_are_wrapped_between_words_with_hanging_indent() {
        let text = "- one two three four five six\n> one two three four five";
        let expected = "• one two three four\n  five six\n│ one two three four\n│ five\n";
        assert_eq!(rendered(text, 4, 20), expected);
        let long = "x".repeat(50);
        assert_eq!(rendered(&long, 7, 20), format!("{long}\n"));
        assert_eq!(
            rendered("日本語 日本語 日本語 日本語", 2, 20),
            "日本語 日本語 日本語\n日本語\n"
        );
    }

    #[test]
    fn words_are_written_before_the_line_ends() {
        let mut markdown = Markdown::new(80);
        assert_eq!(markdown.push("Hello wor"), "Hello");
        assert_eq!(markdown.push("ld **b"), " world");
        assert!(!markdown.is_line_start());
        assert_eq!(
            anstream::adapter::strip_str(&markdown.push("old** x y")).to_string(),
            " bold x"
        );
    }
}
