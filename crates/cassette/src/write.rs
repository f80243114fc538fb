//! Writing of cassettes.

use serde::Serialize;

use crate::line::{CassetteLine, Header};
use crate::{
    Cassette, CassetteError, Entry, Exchange, FILE_BYTES, Interaction, LINE_BYTES, VERSION,
};

impl Cassette {
    /// Returns the text of the cassette. [Normalize](crate::Normalizer) it first: this does not.
    pub fn to_jsonl(&self) -> Result<String, CassetteError> {
        let mut writer = JsonlWriter::default();
        writer.push(&Header { cassette: VERSION })?;
        for entry in &self.entries {
            writer.entry(entry)?;
        }
        Ok(writer.jsonl)
    }
}

impl Entry {
    /// Returns the lines of the entry, to be appended to a cassette. [Normalize](crate::Normalizer) it first: this does
    /// not.
    pub fn to_jsonl(&self) -> Result<String, CassetteError> {
        let mut writer = JsonlWriter::default();
        writer.entry(self)?;
        Ok(writer.jsonl)
    }
}

#[derive(Default)]
struct JsonlWriter {
    jsonl: String,
    lines: usize,
}

impl JsonlWriter {
    fn entry(&mut self, entry: &Entry) -> Result<(), CassetteError> {
        match entry {
            Entry::Interaction(interaction) => self.interaction(interaction),
            Entry::Exchange(exchange) => self.exchange(exchange),
        }
    }

    fn interaction(&mut self, turn: &Interaction) -> Result<(), CassetteError> {
        self.push(&CassetteLine::Turn {
            session: turn.session.clone(),
            resumed: turn.resumed,
            options: turn.options.clone(),
            prompt: turn.prompt.clone(),
        })?;
        for timed in &turn.events {
            self.push(&CassetteLine::Event {
                at: timed.at,
                event: timed.event.clone(),
            })?;
        }
        turn.cut
            .map_or(Ok(()), |at| self.push(&CassetteLine::Cut { at }))
    }

    fn exchange(&mut self, exchange: &Exchange) -> Result<(), CassetteError> {
        self.push(&CassetteLine::Request {
            dialect: exchange.dialect.clone(),
            method: exchange.method.clone(),
            path: exchange.path.clone(),
            body: exchange.body.clone(),
        })?;
        self.push(&CassetteLine::Response {
            status: exchange.status,
            headers: exchange.headers.clone(),
        })?;
        for chunk in &exchange.chunks {
            self.push(&CassetteLine::Chunk {
                at: chunk.at,
                text: chunk.text.clone(),
            })?;
        }
        let cut = exchange.cut;
        cut.map_or(Ok(()), |at| self.push(&CassetteLine::Cut { at }))
    }

    fn push(&mut self, line: &impl Serialize) -> Result<(), CassetteError> {
        self.lines += 1;
        let json = serde_json::to_string(line).map_err(|error| CassetteError::Line {
            line: self.lines,
            problem: error.to_string(),
        })?;
        if json.len() > LINE_BYTES {
            return Err(CassetteError::LongLine { line: self.lines });
        }
        if self.jsonl.len() + json.len() >= FILE_BYTES {
            return Err(CassetteError::LongFile);
        }
        self.jsonl.push_str(&json);
        self.jsonl.push('\n');
        Ok(())
    }
}
