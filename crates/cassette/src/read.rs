//! Parsing of cassettes.

use crate::line::{CassetteLine, Header};
use crate::{
    Cassette, CassetteError, Chunk, Entry, Exchange, FILE_BYTES, Interaction, LINE_BYTES,
    TimedEvent, VERSION,
};

impl Cassette {
    /// Parses a cassette. Empty lines are skipped; every other line must be valid.
    pub fn parse(text: &str) -> Result<Self, CassetteError> {
        if text.len() > FILE_BYTES {
            return Err(CassetteError::LongFile);
        }
        let mut lines = text.lines().zip(1..);
        let first = lines.next().map(|(line, _)| line).unwrap_or_default();
        let header: Header = serde_json::from_str(first).map_err(|_| CassetteError::NoVersion)?;
        if header.cassette != VERSION {
            let found = header.cassette;
            return Err(CassetteError::Version { found });
        }
        let mut cassette = Self::default();
        for (text, line) in lines {
            if text.len() > LINE_BYTES {
                return Err(CassetteError::LongLine { line });
            }
            if text.trim().is_empty() {
                continue;
            }
            serde_json::from_str(text)
                .map_err(|error| error.to_string())
                .and_then(|found| cassette.push_line(found).map_err(str::to_owned))
                .map_err(|problem| CassetteError::Line { line, problem })?;
        }
        Ok(cassette)
    }

    /// Adds a line. A `turn` or `request` line starts an entry; any other line continues the last entry.
    fn push_line(&mut self, line: CassetteLine) -> Result<(), &'static str> {
        match line {
            CassetteLine::Turn {
                session,
                resumed,
                options,
                prompt,
            } => self.entries.push(Entry::Interaction(Interaction {
                session,
                resumed,
                options,
                prompt,
                events: Vec::new(),
                cut: None,
            })),
            CassetteLine::Request {
                dialect,
                method,
                path,
                body,
            } => self.entries.push(Entry::Exchange(Exchange {
                dialect,
                method,
                path,
                body,
                status: UNANSWERED,
                headers: Default::default(),
                chunks: Vec::new(),
                cut: None,
            })),
            CassetteLine::Event { at, event } => match self.open() {
                Some(Entry::Interaction(turn)) => turn.events.push(TimedEvent { at, event }),
                _ => return Err("an event must follow a turn that was not interrupted"),
            },
            CassetteLine::Response { status, headers } => match self.open() {
                Some(Entry::Exchange(exchange)) if exchange.status == UNANSWERED => {
                    (exchange.status, exchange.headers) = (status, headers);
                }
                _ => return Err("a response must follow its request"),
            },
            CassetteLine::Chunk { at, text } => match self.open() {
                Some(Entry::Exchange(exchange)) if exchange.status != UNANSWERED => {
                    exchange.chunks.push(Chunk { at, text });
                }
                _ => return Err("a chunk must follow a response that was not interrupted"),
            },
            CassetteLine::Cut { at } => match self.open() {
                Some(Entry::Interaction(Interaction { cut, .. }))
                | Some(Entry::Exchange(Exchange { cut, .. })) => *cut = Some(at),
                None => return Err("a cut must be the last line of a turn or a response"),
            },
        }
        Ok(())
    }

    /// Returns the last entry, unless it was interrupted.
    fn open(&mut self) -> Option<&mut Entry> {
        self.entries.last_mut().filter(|entry| match entry {
            Entry::Interaction(turn) => turn.cut.is_none(),
            Entry::Exchange(exchange) => exchange.cut.is_none(),
        })
    }
}

/// The status of a request without a response line so far.
const UNANSWERED: u16 = 0;
