//! Searches every file for the pattern and formats the matches.

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

/// The default number of matches.
const DEFAULT_MATCHES: u32 = 200;
/// The maximum number of matches.
const MAX_MATCHES: u32 = 2_000;
/// The maximum number of context lines.
const MAX_CONTEXT: u32 = 20;
/// The maximum length of a line in the result.
const LINE_BYTES: usize = 400;
/// The maximum size of a file that is searched.
const FILE_BYTES: u64 = 16 << 20;

/// The maximum memory of a compiled pattern. A short pattern can require gigabytes.
const PATTERN_BYTES: usize = 8 << 20;

/// Returns the matching lines as `path:line:text`, and context lines as `path-line-text`.
pub fn search(root: &Root, query: &SearchQuery) -> Result<FSResult, PathError> {
    search_until(root, query, &AtomicBool::new(false))
}

/// Like [`search`], until `stop` is set.
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
    let mut report = MatchWriter::new(
        query
            .max_matches
            .unwrap_or(DEFAULT_MATCHES)
            .min(MAX_MATCHES),
    );
    let result = walk(
        root,
        query.path.as_deref().unwrap_or("."),
        stop,
        &mut |path| {
            if globs.matched(path, false).is_ignore() {
                return ControlFlow::Continue(());
            }
            // Files that cannot be opened are skipped.
            let Ok(file) = root.open_file(path) else {
                return ControlFlow::Continue(());
            };
            if file
                .metadata()
                .is_ok_and(|metadata| metadata.len() > FILE_BYTES)
            {
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
    match result {
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
        .map_err(|error| format!("invalid pattern: {error}"))
}

fn globs(query: &SearchQuery) -> Result<Override, String> {
    let mut builder = OverrideBuilder::new("");
    if let Some(glob) = &query.glob {
        let added = builder.add(glob);
        added.map_err(|error| format!("invalid glob: {error}"))?;
    }
    builder
        .build()
        .map_err(|error| format!("invalid glob: {error}"))
}

fn searcher(query: &SearchQuery) -> Searcher {
    let context = query.context.min(MAX_CONTEXT) as usize;
    SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        // A longer line ends the search of its file.
        .heap_limit(Some(FILE_BYTES as usize))
        .build()
}

/// A file that ends when the search is stopped, so that a search continues for at most one buffer.
struct StoppableReader<'a> {
    file: File,
    stop: &'a AtomicBool,
}

impl Read for StoppableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            Ok(0)
        } else {
            self.file.read(buffer)
        }
    }
}

/// Collects the matches.
struct MatchWriter {
    path: String,
    text: String,
    matches: u32,
    max_matches: u32,
    too_large: u32,
}

impl MatchWriter {
    fn new(max_matches: u32) -> Self {
        Self {
            path: String::new(),
            text: String::new(),
            matches: 0,
            max_matches,
            too_large: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.matches >= self.max_matches || self.text.len() >= OUTPUT_BYTES
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
