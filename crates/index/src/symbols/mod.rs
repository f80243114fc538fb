//! Extracts the symbols that a file defines.

use std::ops::ControlFlow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};
use windlass_core::{Clock, SystemClock};

use crate::languages::Language;
use crate::patterns::Kind;

#[cfg(test)]
mod tests;

/// Maximum size of a name; longer names are data.
const MAX_NAME_BYTES: usize = 128;
/// Maximum number of symbols per file.
const MAX_SYMBOLS: usize = 5_000;
/// Maximum depth of a definition in the syntax tree. Real definitions are not deeper.
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

/// Finds the symbols of a file. Each thread has its own parser.
pub(crate) struct SymbolParser {
    parser: Parser,
    clock: SystemClock,
}

impl SymbolParser {
    pub(crate) fn new() -> Self {
        Self {
            parser: Parser::new(),
            clock: SystemClock::new(),
        }
    }

    /// Returns the symbols of a text in text order. There are none if the text cannot be parsed.
    pub(crate) fn symbols(&mut self, language: &Language, text: &[u8]) -> Vec<Symbol> {
        let mut symbols = Vec::new();
        let Some(patterns) = language.patterns() else {
            return symbols;
        };
        let without_bodies = language.without_bodies.and_then(|remove| remove(text));
        let text = without_bodies.as_deref().unwrap_or(text);
        let (clock, end) = (self.clock, self.clock.elapsed() + DEADLINE);
        let Some(tree) = self.parse(language, text, end) else {
            return symbols;
        };
        let check = || check_deadline(&clock, end);
        patterns.find(tree.root_node(), MAX_DEPTH, check, |node, kind| {
            let name = text.get(node.byte_range()).unwrap_or_default();
            let is_name = !name.is_empty() && name.len() <= MAX_NAME_BYTES;
            if is_name && symbols.len() < MAX_SYMBOLS {
                let row = node.start_position().row;
                symbols.push(Symbol {
                    name: String::from_utf8_lossy(name).into_owned(),
                    kind,
                    line: u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1),
                });
            }
        });
        sort_and_dedup(&mut symbols);
        symbols
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

/// Sorts the symbols. If two patterns match one definition, the kind that is declared first wins.
fn sort_and_dedup(symbols: &mut Vec<Symbol>) {
    symbols.sort_by(|one, other| {
        let order = one.line.cmp(&other.line).then(one.name.cmp(&other.name));
        order.then(one.kind.cmp(&other.kind))
    });
    symbols.dedup_by(|later, first| later.line == first.line && later.name == first.name);
}
