//! Finds definitions in a syntax tree by patterns, in the language of tree-sitter's queries.
//!
//! The patterns need a small part of that language: nodes, fields, alternatives and captures. One walk over the tree
//! that compares the kinds of nodes is several times as fast as the general matcher, which also needs milliseconds to
//! prepare a query: as long as it takes to update an index.

use std::num::NonZeroU16;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use tree_sitter::{Language, Node, TreeCursor};

/// Number of nodes between two checks of the deadline.
const NODES_PER_CHECK: usize = 1_000;

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

/// The patterns of a language.
#[derive(Debug)]
pub(crate) struct DefinitionPatterns {
    patterns: Vec<NodePattern>,
    /// For each kind of node, the patterns that start with it.
    by_kind: Vec<Vec<usize>>,
}

/// A pattern of a node and its children.
#[derive(Debug)]
struct NodePattern {
    /// `None` is any kind.
    kind: Option<u16>,
    children: Vec<ChildPattern>,
    /// The kind of symbol that this node names.
    capture: Option<Kind>,
}

/// A pattern of which at least one child must match an alternative. All children that do are found.
#[derive(Debug)]
struct ChildPattern {
    field: Option<NonZeroU16>,
    alternatives: Vec<NodePattern>,
}

impl DefinitionPatterns {
    /// Compiles patterns. The error names the part that does not match the grammar.
    pub(crate) fn compile(grammar: &Language, source: &str) -> Result<Self, String> {
        let mut compiler = PatternCompiler {
            grammar,
            rest: source.trim(),
        };
        let mut patterns = Vec::new();
        let mut by_kind = vec![Vec::new(); grammar.node_kind_count()];
        while !compiler.rest.is_empty() {
            let pattern = compiler.node()?;
            let kind = pattern
                .kind
                .and_then(|kind| by_kind.get_mut(usize::from(kind)));
            kind.ok_or("a pattern starts with any kind of node")?
                .push(patterns.len());
            patterns.push(pattern);
        }
        Ok(Self { patterns, by_kind })
    }

    /// Calls `found` with each node that names a symbol, down to a depth. Stops when `check` says so.
    pub(crate) fn find<'tree>(
        &self,
        root: Node<'tree>,
        max_depth: u32,
        mut check: impl FnMut() -> ControlFlow<()>,
        mut found: impl FnMut(Node<'tree>, Kind),
    ) {
        let (mut cursor, mut depth, mut captures) = (root.walk(), 0, Vec::new());
        for count in 1.. {
            if count % NODES_PER_CHECK == 0 && check().is_break() {
                return;
            }
            let node = cursor.node();
            let starting = self.by_kind.get(usize::from(node.kind_id()));
            for pattern in starting.into_iter().flatten() {
                self.patterns[*pattern].collect(node, &mut captures);
            }
            for (node, kind) in captures.drain(..) {
                found(node, kind);
            }
            if !go_to_next(&mut cursor, &mut depth, max_depth) {
                return;
            }
        }
    }
}

/// Moves to the next node in the order of the text. Returns `false` at the end. The cursor itself counts
/// its depth from the root each time.
fn go_to_next(cursor: &mut TreeCursor<'_>, depth: &mut u32, max_depth: u32) -> bool {
    if *depth < max_depth && cursor.goto_first_child() {
        *depth += 1;
        return true;
    }
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
        *depth -= 1;
    }
    true
}

impl NodePattern {
    /// Adds the captures of a node. Returns `false` if it does not match.
    fn collect<'tree>(&self, node: Node<'tree>, captures: &mut Vec<(Node<'tree>, Kind)>) -> bool {
        if self.kind.is_some_and(|kind| kind != node.kind_id()) {
            return false;
        }
        let before = captures.len();
        for child in &self.children {
            if !child.collect(node, captures) {
                captures.truncate(before);
                return false;
            }
        }
        captures.extend(self.capture.map(|kind| (node, kind)));
        true
    }
}

impl ChildPattern {
    fn collect<'tree>(&self, parent: Node<'tree>, captures: &mut Vec<(Node<'tree>, Kind)>) -> bool {
        let mut cursor = parent.walk();
        let mut any = false;
        let mut check = |node: Node<'tree>| {
            let mut alternatives = self.alternatives.iter();
            any |= alternatives.any(|pattern| pattern.collect(node, captures));
        };
        match self.field {
            Some(field) => parent
                .children_by_field_id(field, &mut cursor)
                .for_each(&mut check),
            None => parent.named_children(&mut cursor).for_each(&mut check),
        }
        any
    }
}

/// Reads patterns from their text.
struct PatternCompiler<'a> {
    grammar: &'a Language,
    rest: &'a str,
}

impl<'a> PatternCompiler<'a> {
    /// Reads `(kind child…) @capture`.
    fn node(&mut self) -> Result<NodePattern, String> {
        self.expect("(")?;
        let kind = match self.word() {
            "_" => None,
            name => Some(self.kind(name)?),
        };
        let mut children = Vec::new();
        while !self.accept(")") {
            children.push(self.child()?);
        }
        let capture = if self.accept("@") {
            let name = self.word();
            Some(Kind::from_name(name).ok_or_else(|| format!("no kind of symbol: {name}"))?)
        } else {
            None
        };
        Ok(NodePattern {
            kind,
            children,
            capture,
        })
    }

    /// Reads `field: node` or `field: [node…]`, where the field may be missing.
    fn child(&mut self) -> Result<ChildPattern, String> {
        let mut field = None;
        if !self.rest.starts_with(['(', '[']) {
            let name = self.word();
            self.expect(":")?;
            let id = self.grammar.field_id_for_name(name);
            field = Some(id.ok_or_else(|| format!("no field: {name}"))?);
        }
        let mut alternatives = Vec::new();
        if self.accept("[") {
            while !self.accept("]") {
                alternatives.push(self.node()?);
            }
        } else {
            alternatives.push(self.node()?);
        }
        Ok(ChildPattern {
            field,
            alternatives,
        })
    }

    fn kind(&self, name: &str) -> Result<u16, String> {
        match self.grammar.id_for_node_kind(name, true) {
            0 => Err(format!("no kind of node: {name}")),
            kind => Ok(kind),
        }
    }

    fn word(&mut self) -> &'a str {
        let end = self
            .rest
            .find(|part: char| part != '_' && !part.is_ascii_alphanumeric());
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        word
    }

    fn accept(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.map_or(self.rest, str::trim_start);
        rest.is_some()
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        let at = self.rest;
        let is_there = self.accept(sign);
        is_there
            .then_some(())
            .ok_or_else(|| format!("{sign} is missing before {at:.30}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_patterns_are_refused() {
        let grammar = tree_sitter_c::LANGUAGE.into();
        for (source, error) in [
            ("(no_such_node)", "no kind of node: no_such_node"),
            ("(enum_specifier no: (identifier))", "no field: no"),
            ("(identifier) @nothing", "no kind of symbol: nothing"),
            ("(enum_specifier", ": is missing before "),
            ("identifier", "( is missing before identifier"),
            ("(_)", "a pattern starts with any kind of node"),
        ] {
            let result = DefinitionPatterns::compile(&grammar, source);
            assert_eq!(result.unwrap_err(), error);
        }
    }
}
