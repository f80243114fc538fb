//! Syntax highlighting of diffs, if the language is known and the time limit allows it.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use two_face::re_exports::syntect::parsing::{
    ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet,
};
use utoipa::openapi::schema::{Object, Schema, Type};
use windlass_core::{Clock, SystemClock};

use super::{Diff, DiffFile, DiffLine, LineKind, Span};

/// The time limit for highlighting one change; the rest stays unstyled. A debug build is much slower.
const TIME_LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 2 });
/// Longer lines are not highlighted: they are usually generated, and some grammars take very long on them.
const MAX_LINE_BYTES: usize = 500;

static LANGUAGES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// The class name for each scope prefix. The first match counts.
const NAMES: &[(&str, &str)] = &[
    ("comment", "com"),
    ("constant.character.escape", "const"),
    ("string", "str"),
    ("constant.numeric", "num"),
    ("constant", "const"),
    ("keyword.operator", "op"),
    ("keyword", "kw"),
    ("storage", "kw"),
    ("entity.name.tag", "tag"),
    ("entity.other.attribute-name", "attr"),
    ("variable.annotation", "attr"),
    ("meta.annotation", "attr"),
    ("entity.name.function", "fn"),
    ("support.function", "fn"),
    ("variable.function", "fn"),
    ("entity.name", "ty"),
    ("entity.other.inherited-class", "ty"),
    ("support", "ty"),
    ("variable.parameter", "var"),
    ("punctuation", "punct"),
];

/// Describes the class names for the OpenAPI document.
pub(super) fn style_schema() -> Schema {
    let names: BTreeSet<&str> = NAMES.iter().map(|(_, name)| *name).chain([""]).collect();
    let names = Object::builder()
        .schema_type(Type::String)
        .enum_values(Some(names));
    names.build().into()
}

static SCOPES: LazyLock<Vec<(Scope, &'static str)>> = LazyLock::new(|| {
    let scopes = NAMES
        .iter()
        .filter_map(|(scope, name)| Some((Scope::new(scope).ok()?, *name)));
    scopes.collect()
});

/// Highlights all lines for which this is possible.
pub(super) fn highlight(diff: &mut Diff) {
    // Loading the languages does not count towards the time limit: the first change would stay unstyled on a
    // busy machine.
    LazyLock::force(&LANGUAGES);
    let clock = SystemClock::new();
    for file in &mut diff.files {
        if let Some(language) = language(&file.path) {
            highlight_file(file, language, &clock);
        }
    }
}

fn language(path: &str) -> Option<&'static SyntaxReference> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit('.').next().unwrap_or(name);
    LANGUAGES
        .find_syntax_by_extension(name)
        .or_else(|| LANGUAGES.find_syntax_by_extension(extension))
}

fn highlight_file(file: &mut DiffFile, language: &SyntaxReference, clock: &SystemClock) {
    for hunk in &mut file.hunks {
        // Both sides are separate texts, of which a hunk shows a part.
        let mut before = Side::new(language);
        let mut after = Side::new(language);
        for line in &mut hunk.lines {
            if clock.elapsed() > TIME_LIMIT {
                return;
            }
            let spans = match line.kind {
                LineKind::Del => before.read(line),
                LineKind::Add => after.read(line),
                LineKind::Context => {
                    before.read(line);
                    after.read(line)
                }
            };
            if let Some(spans) = spans {
                line.spans = spans;
            }
        }
    }
}

struct Side {
    state: ParseState,
    stack: ScopeStack,
}

impl Side {
    fn new(language: &SyntaxReference) -> Self {
        Self {
            state: ParseState::new(language),
            stack: ScopeStack::new(),
        }
    }

    /// Highlights a line; returns `None` if that is not possible.
    fn read(&mut self, line: &DiffLine) -> Option<Vec<Span>> {
        let [Span { text, .. }] = line.spans.as_slice() else {
            return None;
        };
        if text.len() > MAX_LINE_BYTES {
            return None;
        }
        let text = format!("{text}\n");
        let steps = self.state.parse_line(&text, &LANGUAGES).ok()?;
        let mut spans: Vec<Span> = Vec::new();
        let mut from = 0;
        for (at, step) in steps {
            push(&mut spans, text.get(from..at)?, style(&self.stack));
            from = at;
            self.stack.apply(&step).ok()?;
        }
        push(&mut spans, text.get(from..)?, style(&self.stack));
        Some(spans)
    }
}

fn push(spans: &mut Vec<Span>, text: &str, style: &'static str) {
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        return;
    }
    match spans.last_mut() {
        Some(last) if last.style == style => last.text.push_str(text),
        _ => spans.push(Span {
            text: text.to_owned(),
            style,
        }),
    }
}

/// Returns the class name for the innermost scope that has one.
fn style(stack: &ScopeStack) -> &'static str {
    let scopes = stack.as_slice().iter().rev();
    let mut names = scopes.filter_map(|scope| {
        let mut known = SCOPES.iter();
        let found = known.find(|(known, _)| known.is_prefix_of(*scope));
        found.map(|(_, name)| *name)
    });
    let innermost = names.next().unwrap_or("");
    // The delimiters of a string or a comment are part of it.
    match innermost {
        "punct" => names
            .find(|name| ["str", "com"].contains(name))
            .unwrap_or("punct"),
        name => name,
    }
}
