//! Extracts the symbols that a file defines and the names it refers to.

use std::ops::ControlFlow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tree_sitter::{
    ParseOptions, ParseState, Parser, QueryCursor, QueryCursorOptions, QueryCursorState,
    StreamingIterator, Tree,
};
use windlass_core::{Clock, SystemClock};

use crate::bag::BagBuilder;
use crate::languages::Language;
use crate::words;

#[cfg(test)]
mod tests;

/// Maximum size of a name; longer names are data.
const MAX_NAME_BYTES: usize = 128;
/// Maximum number of symbols per file.
const MAX_SYMBOLS: usize = 5_000;
/// Maximum number of pending matches: bounds the cost of a query on a pathological file.
const MAX_PENDING_MATCHES: u32 = 256;
/// Maximum depth of a definition in the syntax tree. Real definitions are not deeper, and the cost of a query
/// grows with depth.
const MAX_DEPTH: u32 = 300;
/// Time limit per file. Normal files take milliseconds; pathological ones could take forever.
const DEADLINE: Duration = Duration::from_secs(10);

/// A symbol definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Line number, starting at 1.
    pub(crate) line: u32,
}

/// Defines the symbol kinds with the capture names of the queries.
macro_rules! kinds {
    ($($kind:ident $name:literal),+ $(,)?) => {
        /// The kind of a symbol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub(crate) enum Kind { $($kind),+ }

        impl Kind {
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name),+ }
            }

            fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$kind),)+ _ => None }
            }
        }
    };
}

kinds! {
    Function "function", Method "method", Constructor "constructor", Class "class", Struct "struct", Enum "enum",
    Trait "trait", Interface "interface", Type "type", Module "module", Macro "macro", Constant "constant",
    Variable "variable", Field "field",
}

/// The symbols and references of a file.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// In text order.
    pub(crate) symbols: Vec<Symbol>,
    /// Hashes of the names referred to.
    pub(crate) uses: BagBuilder,
}

/// Parses outlines. Each thread has its own parser.
pub(crate) struct SymbolParser {
    parser: Parser,
    cursor: QueryCursor,
    clock: SystemClock,
}

impl SymbolParser {
    pub(crate) fn new() -> Self {
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(MAX_PENDING_MATCHES);
        cursor.set_max_start_depth(Some(MAX_DEPTH));
        Self {
            parser: Parser::new(),
            cursor,
            clock: SystemClock::new(),
        }
    }

    /// Returns the outline of a text. It is empty if the text cannot be parsed.
    pub(crate) fn outline(&mut self, language: &Language, text: &[u8]) -> Outline {
        let mut outline = Outline::default();
        let Some(query) = language.query() else {
            return outline;
        };
        let (clock, end) = (self.clock, self.clock.elapsed() + DEADLINE);
        let Some(tree) = self.parse(language, text, end) else {
            return outline;
        };
        let kinds = query.capture_names();
        let mut on_progress = |_: &QueryCursorState| check_deadline(&clock, end);
        let options = QueryCursorOptions::new().progress_callback(&mut on_progress);
        let mut matches = self
            .cursor
            .matches_with_options(query, tree.root_node(), text, options);
        while let Some(found) = matches.next() {
            for capture in found.captures() {
                let range = capture.node.byte_range();
                let name = text.get(range).unwrap_or_default();
                if name.is_empty() || name.len() > MAX_NAME_BYTES {
                    continue;
                }
                let kind = kinds.get(capture.index as usize).copied();
                match kind.and_then(Kind::from_name) {
                    Some(kind) => outline.define(name, kind, capture.node.start_position().row),
                    None => outline.uses.add(words::hash_name(name)),
                }
            }
        }
        outline.sort_and_dedup();
        outline
    }

    fn parse(&mut self, language: &Language, text: &[u8], end: Duration) -> Option<Tree> {
        self.parser.set_language(&language.grammar()).ok()?;
        self.parser.reset();
        let mut on_progress = |_: &ParseState| check_deadline(&self.clock, end);
        let options = ParseOptions::new().progress_callback(&mut on_progress);
        let mut read = |at: usize, _| text.get(at..).unwrap_or_default();
        self.parser
            .parse_with_options(&mut read, None, Some(options))
    }
}

fn check_deadline(clock: &SystemClock, end: Duration) -> ControlFlow<()> {
    if clock.elapsed() < end {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}

impl Outline {
    fn define(&mut self, name: &[u8], kind: Kind, row: usize) {
        if self.symbols.len() < MAX_SYMBOLS {
            self.symbols.push(Symbol {
                name: String::from_utf8_lossy(name).into_owned(),
                kind,
                line: u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1),
            });
        }
    }

    /// Sorts the symbols. If two patterns match one definition, the kind that is declared first wins.
    fn sort_and_dedup(&mut self) {
        self.symbols.sort_by(|one, other| {
            let order = one.line.cmp(&other.line).then(one.name.cmp(&other.name));
            order.then(one.kind.cmp(&other.kind))
        });
        self.symbols
            .dedup_by(|later, first| later.line == first.line && later.name == first.name);
    }
}
