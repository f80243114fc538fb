//! Looks for the pattern in every file and writes down what it finds.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::overrides::{Override, OverrideBuilder};
use windlass_core::limits::OUTPUT_BYTES;
use windlass_workspace::paths::{PathError, Root};

use super::query::SearchQuery;
use super::walk::walk;
use crate::results::FSResult;
use crate::truncate;

/// The matches shown unless the model says otherwise, and the most it can ask for.
const MATCHES: (u32, u32) = (200, 2_000);
/// The most lines around a match.
const CONTEXT: u32 = 20;
/// What is shown of one line.
const LINE_BYTES: usize = 400;
/// The largest file that is searched.
const FILE_BYTES: u64 = 16 << 20;

/// What a pattern may take up, as it is made and as it is used: one of a few letters can ask for gigabytes.
const PATTERN_BYTES: usize = 8 << 20;

/// The lines that match, as `path:line:text`; lines around them as `path-line-text`.
pub fn search(root: &Root, query: &SearchQuery) -> Result<FSResult, PathError> {
    search_until(root, query, &AtomicBool::new(false))
}

/// The same, until told to stop.
pub(super) fn search_until(
    root: &Root,
    query: &SearchQuery,
    stop: &AtomicBool,
) -> Result<FSResult, PathError> {
    let (matcher, globs) = match (pattern(query), globs(query)) {
        (Ok(matcher), Ok(globs)) => (matcher, globs),
        (Err(problem), _) | (_, Err(problem)) => {
            return Ok(FSResult::failed(format!("search: {problem}")));
        }
    };
    let mut searcher = searcher(query);
    let mut report = MatchWriter::new(query.max_matches.unwrap_or(MATCHES.0).min(MATCHES.1));
    let walked = walk(
        root,
        query.path.as_deref().unwrap_or("."),
        stop,
        &mut |path| {
            if globs.matched(path, false).is_ignore() {
                return ControlFlow::Continue(());
            }
            // What cannot be opened was not there to be searched.
            let Ok(file) = root.open_file(path) else {
                return ControlFlow::Continue(());
            };
            if file.metadata().is_ok_and(|found| found.len() > FILE_BYTES) {
                report.too_large += 1;
                return ControlFlow::Continue(());
            }
            report.path = path.to_owned();
            let _ = searcher.search_reader(&matcher, StoppableReader { file, stop }, &mut report);
            if report.is_full() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    );
    match walked {
        Ok(()) => Ok(FSResult::done(report.into_text())),
        Err(error) => FSResult::from_path_error("search", error),
    }
}

fn pattern(query: &SearchQuery) -> Result<RegexMatcher, String> {
    if query.pattern.is_empty() {
        return Err("the pattern is empty".to_owned());
    }
    RegexMatcherBuilder::new()
        .case_insensitive(query.ignore_case)
        .fixed_strings(query.literal)
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .build(&query.pattern)
        .map_err(|error| format!("the pattern cannot be used: {error}"))
}

fn globs(query: &SearchQuery) -> Result<Override, String> {
    let mut builder = OverrideBuilder::new("");
    if let Some(glob) = &query.glob {
        let added = builder.add(glob);
        added.map_err(|error| format!("the glob cannot be used: {error}"))?;
    }
    builder
        .build()
        .map_err(|error| format!("the glob cannot be used: {error}"))
}

fn searcher(query: &SearchQuery) -> Searcher {
    let around = query.context.min(CONTEXT) as usize;
    SearcherBuilder::new()
        .line_number(true)
        .before_context(around)
        .after_context(around)
        .binary_detection(BinaryDetection::quit(0))
        // A line longer than this ends the search of its file.
        .heap_limit(Some(FILE_BYTES as usize))
        .build()
}

/// A file that ends as soon as the search is told to stop, so that no pattern outlives it by more than a piece.
struct StoppableReader<'a> {
    file: File,
    stop: &'a AtomicBool,
}

impl Read for StoppableReader<'_> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        match self.stop.load(Ordering::Relaxed) {
            true => Ok(0),
            false => self.file.read(piece),
        }
    }
}

/// What was found so far.
struct MatchWriter {
    path: String,
    text: String,
    matches: u32,
    most: u32,
    too_large: u32,
}

impl MatchWriter {
    fn new(most: u32) -> Self {
        Self {
            path: String::new(),
            text: String::new(),
            matches: 0,
            most,
            too_large: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.matches >= self.most || self.text.len() >= OUTPUT_BYTES
    }

    fn line(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = truncate::truncate_line(text.trim_end_matches(['\n', '\r']), LINE_BYTES);
        let number = number.unwrap_or(0);
        let _ = writeln!(self.text, "{}{mark}{number}{mark}{text}", self.path);
    }

    fn into_text(mut self) -> String {
        if self.matches == 0 {
            self.text.push_str("no matches\n");
        }
        if self.is_full() {
            let count = self.matches;
            let _ = writeln!(
                self.text,
                "[… cut after {count} matches: narrow the search …]"
            );
        }
        if self.too_large > 0 {
            let (count, limit) = (self.too_large, FILE_BYTES >> 20);
            let _ = writeln!(
                self.text,
                "[{count} files larger than {limit} MiB were not searched]"
            );
        }
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}

impl Sink for &mut MatchWriter {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.line(found.line_number(), ':', found.bytes());
        self.matches += 1;
        Ok(!self.is_full())
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.line(found.line_number(), '-', found.bytes());
        Ok(!self.is_full())
    }
}
