//! Finds circles between the modules of a crate.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The path of a module from the root of its crate, or of an item as a `use` declaration names it.
type Module = Vec<String>;

/// A `use` declaration: the path, and the name that it gives to the item.
struct Import {
    path: Module,
    name: String,
}

/// What a file names of other modules.
struct Names {
    imports: Vec<Import>,
    /// Paths in code, such as `crate::a::f` in an expression.
    paths: Vec<Module>,
}

/// More re-exports of re-exports than there are.
const MAX_EXPORTS: usize = 10;

/// Returns the modules that depend on each other in a circle, one group per circle.
///
/// A module depends on the modules that its `use` declarations and the paths in its code name. A module may use its ancestors and its
/// descendants: they are one unit. The files are paths from the crate's `src`, with their tokens.
pub(crate) fn find(files: &[(String, TokenStream)]) -> Vec<BTreeSet<String>> {
    let modules: BTreeMap<Module, Names> = files
        .iter()
        .map(|(file, source)| (module(file), names(source)))
        .collect();
    let exports = exports(&modules);
    let mut uses: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, names) in &modules {
        let imported = names.imports.iter().map(|import| &import.path);
        let targets = imported
            .chain(&names.paths)
            .filter_map(|path| resolve(module, path, &modules, &exports, MAX_EXPORTS));
        let is_related = |target: &Module| target.starts_with(module) || module.starts_with(target);
        uses.insert(
            module,
            targets.filter(|target| !is_related(target)).collect(),
        );
    }
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = uses
        .keys()
        .map(|module| (*module, reachable(module, &uses)))
        .collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (module, others) in &reach {
        let back = |other: &&&Module| reach.get(*other).is_some_and(|all| all.contains(module));
        let circle: BTreeSet<String> = others.iter().filter(back).map(|m| m.join("::")).collect();
        if circle.len() > 1 && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

fn module(file: &str) -> Module {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    match path {
        "lib" | "main" => Module::new(),
        path => path.split('/').map(str::to_owned).collect(),
    }
}

/// Returns the names that each module exports from another one: module and name, and the path they stand for.
fn exports(modules: &BTreeMap<Module, Names>) -> BTreeMap<(Module, String), Module> {
    let mut exports = BTreeMap::new();
    for (module, names) in modules {
        for import in &names.imports {
            exports.insert((module.clone(), import.name.clone()), import.path.clone());
        }
    }
    exports
}

/// Returns the module that contains the item of a path, or `None` for a path out of the crate.
fn resolve(
    from: &Module,
    path: &Module,
    modules: &BTreeMap<Module, Names>,
    exports: &BTreeMap<(Module, String), Module>,
    exports_left: usize,
) -> Option<Module> {
    let mut rest = path.as_slice();
    let mut at = match rest.first()?.as_str() {
        "crate" => Module::new(),
        "self" | "super" => from.clone(),
        first if modules.contains_key(&child(from, first)) => from.clone(),
        _ => return None,
    };
    while let Some((name, tail)) = rest.split_first() {
        let inner = child(&at, name);
        match name.as_str() {
            "crate" | "self" => {}
            "super" => _ = at.pop(),
            _ if modules.contains_key(&inner) => at = inner,
            name => {
                let key = (at.clone(), name.to_owned());
                return match exports.get(&key) {
                    Some(export) if at != *from && exports_left > 0 => {
                        resolve(&at, export, modules, exports, exports_left - 1)
                    }
                    _ => Some(at),
                };
            }
        }
        rest = tail;
    }
    Some(at)
}

fn child(module: &Module, name: &str) -> Module {
    let mut child = module.clone();
    child.push(name.to_owned());
    child
}

fn reachable<'a>(
    from: &Module,
    uses: &'a BTreeMap<&'a Module, BTreeSet<Module>>,
) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&Module> = uses[from].iter().collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(uses.get(module).into_iter().flatten());
        }
    }
    found
}

/// Returns what a file names, without what modules inside the file name.
fn names(source: &TokenStream) -> Names {
    let mut paths = Vec::new();
    collect_paths(source.clone(), &mut paths);
    Names {
        imports: imports(source),
        paths,
    }
}

/// Adds the paths that start with `crate` or `super`.
fn collect_paths(source: TokenStream, found: &mut Vec<Module>) {
    let tokens: Vec<TokenTree> = source.into_iter().collect();
    let mut rest = tokens.as_slice();
    while let Some((token, mut tail)) = rest.split_first() {
        match token {
            TokenTree::Ident(word) if word == "crate" || word == "super" => {
                let mut path = vec![word.to_string()];
                while let [first, second, TokenTree::Ident(name), after @ ..] = tail
                    && is_colon(first)
                    && is_colon(second)
                {
                    path.push(name.to_string());
                    tail = after;
                }
                found.push(path);
            }
            TokenTree::Ident(word) if word == "mod" => {
                if let [_, TokenTree::Group(_), after @ ..] = tail {
                    tail = after;
                }
            }
            TokenTree::Group(group) => collect_paths(group.stream(), found),
            _ => {}
        }
        rest = tail;
    }
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':')
}

/// Returns all `use` declarations, without those of modules inside the file.
fn imports(source: &TokenStream) -> Vec<Import> {
    let mut found = Vec::new();
    let mut tokens = source.clone().into_iter();
    while let Some(token) = tokens.next() {
        if matches!(&token, TokenTree::Ident(word) if word == "use") {
            let tree = tokens.by_ref().take_while(|token| token.to_string() != ";");
            expand(tree.collect(), &Module::new(), &mut found);
        }
    }
    found
}

/// Adds the imports of a tree such as `a::{b, c::{self, D as E}}`.
fn expand(tree: TokenStream, prefix: &Module, found: &mut Vec<Import>) {
    let mut path = prefix.clone();
    let mut name = None;
    let mut tokens = tree.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "as" => name = tokens.next().map(|t| t.to_string()),
            TokenTree::Ident(word) => {
                if word != "self" || path.is_empty() {
                    path.push(word.to_string());
                }
                name = path.last().cloned();
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                expand(group.stream(), &path, found);
                name = None;
            }
            TokenTree::Punct(mark) if mark.as_char() == ',' => {
                let path = std::mem::replace(&mut path, prefix.clone());
                found.extend(name.take().map(|name| Import { path, name }));
            }
            _ => {}
        }
    }
    found.extend(name.map(|name| Import { path, name }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], circles: &[&[&str]]) {
        let parse = |(file, text): &(&str, &str)| ((*file).to_owned(), text.parse().unwrap());
        let files: Vec<_> = files.iter().map(parse).collect();
        let found: Vec<Vec<String>> = find(&files)
            .into_iter()
            .map(|circle| circle.into_iter().collect())
            .collect();
        assert_eq!(found, circles);
    }

    #[test]
    fn circles_are_found_through_exports_and_aliases() {
        check(
            &[
                (
                    "lib.rs",
                    "mod a; mod b; mod c; pub use b::{B as Better, inner::{self, X}};",
                ),
                ("a.rs", "use crate::Better;"),
                ("b/mod.rs", "pub mod inner; pub struct B; use super::c::C;"),
                ("b/inner.rs", "pub struct X; use super::B;"),
                ("c.rs", "pub struct C; use crate::{a::A, X};"),
            ],
            &[&["a", "b", "c"]],
        );
    }

    #[test]
    fn circles_are_found_through_paths_in_code() {
        check(
            &[
                ("lib.rs", "mod a; mod b; mod c;"),
                ("a.rs", "pub fn f() { crate::b::g() }"),
                ("b.rs", "pub fn g() { match x { _ => super::a::f() } }"),
                (
                    "c.rs",
                    "pub(crate) mod tests { fn t() { super::super::a::f() } }",
                ),
            ],
            &[&["a", "b"]],
        );
    }

    #[test]
    fn a_module_may_use_its_parent_and_its_children() {
        check(
            &[
                ("lib.rs", "mod a; pub use a::A;"),
                ("a/mod.rs", "mod b; use b::B; pub struct A;"),
                (
                    "a/b.rs",
                    "use super::A; use std::fmt; #[cfg(test)] mod tests { use crate::x; }",
                ),
            ],
            &[],
        );
    }
}
