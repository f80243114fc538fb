//! The symbols that a file defines, and the names it refers to.

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

/// A longer name is data.
const NAME_BYTES: usize = 128;
/// The most symbols that are kept of one file.
const MAX_SYMBOLS: usize = 5_000;
/// How many matches may be open at once: what bounds a query on a text made to explode.
const OPEN_MATCHES: u32 = 256;
/// Nobody defines anything deeper in a tree than this, and a query takes time by nodes and depth.
const MAX_DEPTH: u32 = 300;
/// How long one file may take. Real ones take milliseconds; a few are made to take for ever.
const DEADLINE: Duration = Duration::from_secs(10);

/// A symbol where it is defined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// From one.
    pub(crate) line: u32,
}

/// The kinds of symbols, under the names that the queries give them.
macro_rules! kinds {
    ($($kind:ident $name:literal),+ $(,)?) => {
        /// What a symbol is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub(crate) enum Kind { $($kind),+ }

        impl Kind {
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name),+ }
            }

            fn of(name: &str) -> Option<Self> {
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

/// What a file defines and refers to.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// In the order of the text.
    pub(crate) symbols: Vec<Symbol>,
    /// The names referred to, each by its hash.
    pub(crate) uses: BagBuilder,
}

/// Reads outlines. Each thread has its own.
pub(crate) struct SymbolParser {
    parser: Parser,
    cursor: QueryCursor,
    clock: SystemClock,
}

impl SymbolParser {
    pub(crate) fn new() -> Self {
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(OPEN_MATCHES);
        cursor.set_max_start_depth(Some(MAX_DEPTH));
        Self {
            parser: Parser::new(),
            cursor,
            clock: SystemClock::new(),
        }
    }

    /// The outline of a text; empty where it cannot be parsed.
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
        let mut watch = |_: &QueryCursorState| check_deadline(&clock, end);
        let options = QueryCursorOptions::new().progress_callback(&mut watch);
        let mut matches = self
            .cursor
            .matches_with_options(query, tree.root_node(), text, options);
        while let Some(found) = matches.next() {
            for capture in found.captures() {
                let range = capture.node.byte_range();
                let name = text.get(range).unwrap_or_default();
                if name.is_empty() || name.len() > NAME_BYTES {
                    continue;
                }
                let kind = kinds.get(capture.index as usize).copied();
                match kind.and_then(Kind::of) {
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
        let mut watch = |_: &ParseState| check_deadline(&self.clock, end);
        let options = ParseOptions::new().progress_callback(&mut watch);
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

    /// Puts the symbols in order. Two patterns may see one definition: the kind that was named first is the better one.
    fn sort_and_dedup(&mut self) {
        self.symbols.sort_by(|one, other| {
            let order = one.line.cmp(&other.line).then(one.name.cmp(&other.name));
            order.then(one.kind.cmp(&other.kind))
        });
        self.symbols
            .dedup_by(|later, first| later.line == first.line && later.name == first.name);
    }
}
