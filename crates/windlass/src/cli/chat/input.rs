//! Reads lines: with an editor on a terminal, as they are otherwise.

use std::borrow::Cow;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};
use windlass_core::limits::PROMPT_BYTES;

use super::command::COMMANDS;
use super::history::PromptHistory;
use crate::cli::console::{Console, STRONG};
use crate::cli::exit::CliError;

/// What the user entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatEntry {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    End,
}

/// The source of lines. Clones share it.
#[derive(Clone)]
pub(super) struct ChatInput {
    reader: Arc<Mutex<Reader>>,
}

enum Reader {
    Editor {
        editor: Box<Editor<ChatHelper, MemHistory>>,
        history: PromptHistory,
    },
    Plain {
        console: Console,
    },
}

impl ChatInput {
    /// Creates an editor that stores its history in this file. Tab completes commands and the names of these agents.
    pub(super) fn editor(history: PathBuf, agents: Vec<String>) -> Result<Self, CliError> {
        let is_colored = anstream::stdout().current_choice() != anstream::ColorChoice::Never;
        let colors = if is_colored {
            ColorMode::Enabled
        } else {
            ColorMode::Disabled
        };
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .color_mode(colors)
            .auto_add_history(false)
            .build();
        let failed = |error: ReadlineError| {
            CliError::failed(format!(
                "the line editor cannot start: {error}; use --plain"
            ))
        };
        let mut editor = Editor::with_history(config, MemHistory::new()).map_err(failed)?;
        editor.set_helper(Some(ChatHelper { agents }));
        let history = PromptHistory::load(history);
        for entry in history.entries() {
            editor.add_history_entry(entry.as_str()).map_err(failed)?;
        }
        let editor = Box::new(editor);
        Ok(Self::new(Reader::Editor { editor, history }))
    }

    /// Reads stdin as it is. A prompt is shown only on a terminal.
    pub(super) fn plain(console: Console) -> Self {
        Self::new(Reader::Plain { console })
    }

    fn new(reader: Reader) -> Self {
        Self {
            reader: Arc::new(Mutex::new(reader)),
        }
    }

    /// Reads a line. Dropping the future does not stop the reader: it takes the next line.
    pub(super) async fn read(&self, prompt: &str) -> Result<ChatEntry, CliError> {
        let (reader, prompt) = (Arc::clone(&self.reader), prompt.to_owned());
        let read = tokio::task::spawn_blocking(move || reader.lock().read(&prompt));
        read.await
            .map_err(|error| CliError::failed(format!("reading a line: {error}")))?
    }

    /// Adds a prompt to the history.
    pub(super) fn remember(&self, text: &str) {
        if let Reader::Editor { editor, history } = &mut *self.reader.lock() {
            let _ = editor.add_history_entry(text);
            history.add(text);
        }
    }
}

impl Reader {
    fn read(&mut self, prompt: &str) -> Result<ChatEntry, CliError> {
        match self {
            Self::Editor { editor, .. } => match editor.readline(prompt) {
                Ok(line) => Ok(ChatEntry::Line(join_continued(&line))),
                Err(ReadlineError::Interrupted) => Ok(ChatEntry::Interrupted),
                Err(ReadlineError::Eof) => Ok(ChatEntry::End),
                Err(error) => Err(CliError::failed(format!("reading a line: {error}"))),
            },
            Self::Plain { console } => {
                if io::stdin().is_terminal() {
                    console.prompt(prompt);
                }
                read_plain(&mut io::stdin().lock())
            }
        }
    }
}

/// Reads a line, and the next ones as long as they end with a backslash.
fn read_plain(input: &mut impl BufRead) -> Result<ChatEntry, CliError> {
    let mut bytes = Vec::new();
    let too_long = || {
        CliError::usage(format!(
            "a line on stdin has more than {PROMPT_BYTES} bytes: put the text into a file and name the file"
        ))
    };
    loop {
        let limit = (PROMPT_BYTES + 1).saturating_sub(bytes.len()) as u64;
        let read = input
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut bytes)
            .map_err(|error| CliError::usage(format!("stdin cannot be read: {error}")))?;
        if bytes.len() > PROMPT_BYTES {
            return Err(too_long());
        }
        let is_continued = read > 0 && (bytes.ends_with(b"\\\n") || bytes.ends_with(b"\\\r\n"));
        if !is_continued {
            break;
        }
    }
    if bytes.is_empty() {
        return Ok(ChatEntry::End);
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| CliError::usage("a line on stdin is not UTF-8: convert it first"))?;
    Ok(ChatEntry::Line(join_continued(&text)))
}

/// Removes the backslashes that continue lines, and the line end.
fn join_continued(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace("\\\n", "\n");
    text.trim_end_matches('\n').to_owned()
}

/// Completes commands, and continues a line that ends with a backslash.
struct ChatHelper {
    agents: Vec<String>,
}

impl Helper for ChatHelper {}

impl Hinter for ChatHelper {
    type Hint = String;
}

impl Validator for ChatHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if context.input().ends_with('\\') {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Highlighter for ChatHelper {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(
        &'s self,
        prompt: &'p str,
        _default: bool,
    ) -> Cow<'b, str> {
        Cow::Owned(format!("{STRONG}{prompt}{STRONG:#}"))
    }
}

impl Completer for ChatHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(complete(&line[..position], &self.agents))
    }
}

/// Returns where the completed word starts, and what it may become.
fn complete(line: &str, agents: &[String]) -> (usize, Vec<String>) {
    if let Some(start) = line.strip_prefix("/agent ") {
        let names = agents.iter().filter(|name| name.starts_with(start));
        return (line.len() - start.len(), names.cloned().collect());
    }
    if !line.starts_with('/') || line.contains(' ') {
        return (line.len(), Vec::new());
    }
    let matching = COMMANDS.iter().filter(|(name, ..)| name.starts_with(line));
    let names = matching.map(|(name, argument, _)| {
        let space = if argument.is_empty() { "" } else { " " };
        format!("{name}{space}")
    });
    (0, names.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_continued() {
        let mut input = &b"one\ntwo\\\nthree\\\r\nfour\r\n\nlast"[..];
        let mut next = || read_plain(&mut input).unwrap();
        for expected in ["one", "two\nthree\nfour", "", "last"] {
            assert_eq!(next(), ChatEntry::Line(expected.to_owned()));
        }
        assert_eq!(next(), ChatEntry::End);
        assert!(read_plain(&mut &b"\xff\n"[..]).is_err());
        assert!(read_plain(&mut &vec![b'x'; PROMPT_BYTES + 9][..]).is_err());
    }

    #[test]
    fn commands_and_agents_are_completed() {
        let agents = ["claude".to_owned(), "codex".to_owned()];
        assert_eq!(complete("/un", &agents), (0, vec!["/undo".to_owned()]));
        assert_eq!(complete("/ag", &agents), (0, vec!["/agent ".to_owned()]));
        assert_eq!(
            complete("/agent co", &agents),
            (7, vec!["codex".to_owned()])
        );
        assert_eq!(complete("Fix /un", &agents).1, Vec::<String>::new());
    }
}
