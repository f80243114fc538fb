//! The modules of a crate: finds siblings that depend on each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::tokens;

/// A module by the names on its path; the root of the crate is empty.
type Module = Vec<String>;

/// The modules of a crate.
pub(crate) struct Modules {
    /// The paths that each module uses, as written.
    uses: BTreeMap<Module, Vec<Vec<String>>>,
}

impl Modules {
    /// Parses the files of a crate, each with its path below `src`.
    pub(crate) fn parse<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let uses = files.into_iter().map(|(name, text)| {
            let source = tokens::parse(name, text);
            let tests = tokens::test_lines(&source);
            let mut found = Vec::new();
            paths(&source, &mut found);
            found.retain(|(line, _)| !tests.iter().any(|test| test.contains(line)));
            (
                module(name),
                found.into_iter().map(|(_, path)| path).collect(),
            )
        });
        Self {
            uses: uses.collect(),
        }
    }

    /// Returns every pair of siblings that depend on each other, directly or through other siblings.
    pub(crate) fn circles(&self) -> BTreeSet<String> {
        let mut edges: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (user, paths) in &self.uses {
            for path in paths {
                let used = self.resolve(user, path);
                let common = user.iter().zip(&used).take_while(|(a, b)| a == b).count();
                if common < user.len() && common < used.len() {
                    let to = used[..=common].to_vec();
                    edges
                        .entry(user[..=common].to_vec())
                        .or_default()
                        .insert(to);
                }
            }
        }
        let mut circles = BTreeSet::new();
        for from in edges.keys() {
            let reached = reachable(&edges, from);
            let both = reached.iter().filter(|to| from < *to);
            let both = both.filter(|to| reachable(&edges, to).contains(from));
            circles.extend(both.map(|to| format!("{} and {}", from.join("::"), to.join("::"))));
        }
        circles
    }

    /// Returns the module that a path in `user` leads to, also through a re-export.
    fn resolve(&self, user: &Module, path: &[String]) -> Module {
        let mut at = user.clone();
        let mut rest = path;
        while let [first, after @ ..] = rest {
            match first.as_str() {
                "crate" => at.clear(),
                "super" => drop(at.pop()),
                "self" => {}
                name => match self.child(&at, name) {
                    Some(child) => at = child,
                    None => return self.re_exported(&at, name).unwrap_or(at),
                },
            }
            rest = after;
        }
        at
    }

    fn child(&self, of: &Module, name: &str) -> Option<Module> {
        let child: Module = of.iter().cloned().chain([name.to_owned()]).collect();
        self.uses.contains_key(&child).then_some(child)
    }

    /// Returns the child whose item the module exports under this name.
    fn re_exported(&self, by: &Module, name: &str) -> Option<Module> {
        let mut paths = self.uses.get(by)?.iter();
        paths.find_map(|path| match path.as_slice() {
            [first, .., last] if last == name => self.child(by, first),
            _ => None,
        })
    }
}

fn reachable(edges: &BTreeMap<Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in edges.get(module).into_iter().flatten() {
            if found.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    found
}

/// Returns the module of a file: `cli/mod.rs` and `cli.rs` are `cli`.
fn module(file: &str) -> Module {
    let name = file.strip_suffix(".rs").unwrap_or(file);
    let mut parts: Module = name.split('/').map(str::to_owned).collect();
    let last = parts.last().map(String::as_str);
    if matches!(last, Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

/// Collects every path, with its line. A path with a list in braces is one path for each item.
fn paths(source: &TokenStream, found: &mut Vec<(usize, Vec<String>)>) {
    let tokens: Vec<TokenTree> = source.clone().into_iter().collect();
    let mut path: Vec<String> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let continues = at >= 2 && is_colon(&tokens[at - 1]) && is_colon(&tokens[at - 2]);
        match token {
            TokenTree::Ident(name) => {
                if !continues {
                    path.clear();
                }
                path.push(name.to_string());
                found.push((name.span().start().line, path.clone()));
            }
            TokenTree::Group(group) => {
                let mut inside = Vec::new();
                paths(&group.stream(), &mut inside);
                let is_list = continues && group.delimiter() == Delimiter::Brace;
                let prefix = if is_list { path.as_slice() } else { &[] };
                found.extend(
                    inside
                        .into_iter()
                        .map(|(line, below)| (line, prefix.iter().cloned().chain(below).collect())),
                );
            }
            _ => {}
        }
    }
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':')
}

#[test]
fn circles_are_found_through_lists_and_re_exports() {
    let circles = |files: &[(&str, &str)]| Modules::parse(files.iter().copied()).circles();
    let root = ("lib.rs", "mod a; mod b; mod c; pub use b::Thing;");
    let none: &[(&str, &str)] = &[
        root,
        ("a.rs", "use crate::{b::X, c};"),
        ("b.rs", "#[cfg(test)] mod tests { use crate::a::Y; }"),
        ("c.rs", "fn f() { super::b::g() }"),
    ];
    assert_eq!(circles(none), BTreeSet::new());
    let list = ("b.rs", "use super::{x, c::Z};");
    let re_export = ("c.rs", "use crate::Thing;");
    let found = circles(&[root, list, re_export]);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["b and c"]);
    let long = circles(&[
        ("lib.rs", ""),
        ("a/mod.rs", ""),
        ("a/inner.rs", "use crate::b;"),
        ("b.rs", "use crate::c;"),
        ("c.rs", "fn f() { crate::a::inner::g() }"),
    ]);
    assert_eq!(
        long.into_iter().collect::<Vec<_>>(),
        ["a and b", "a and c", "b and c"]
    );
}
