//! Dependencies between the files of a crate, as far as their paths show them.

use std::collections::{BTreeMap, BTreeSet};

type Module = Vec<String>;

/// The files of one crate as modules, with the names that each re-exports.
struct Modules {
    /// Module to source, without its tests.
    sources: BTreeMap<Module, String>,
    /// Module and name to the module that has the name.
    exports: BTreeMap<(Module, String), Module>,
}

/// Returns the files of a crate that depend on each other in a circle, each with the files it needs.
///
/// The sources are paths below `src`, with their text.
pub(crate) fn circles(sources: &[(String, String)]) -> Vec<String> {
    let modules = Modules::new(sources);
    let mut needs: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, text) in &modules.sources {
        let paths = paths(text).into_iter().filter(|path| !path.is_export);
        let found = paths.filter_map(|path| modules.resolve(module, &path.segments));
        let found = found.filter(|target| target != module).collect();
        needs.insert(module, found);
    }
    let reaches = |from: &Module, to: &Module| {
        let mut open: Vec<&Module> = needs[from].iter().collect();
        let mut seen = BTreeSet::new();
        while let Some(next) = open.pop() {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                open.extend(needs.get(next).into_iter().flatten());
            }
        }
        false
    };
    let in_circle = needs.keys().filter(|module| reaches(module, module));
    in_circle
        .map(|module| {
            let back = needs[*module].iter().filter(|next| reaches(next, module));
            let back: Vec<String> = back.map(|next| next.join("/")).collect();
            format!("{} -> {}", module.join("/"), back.join(", "))
        })
        .collect()
}

impl Modules {
    fn new(sources: &[(String, String)]) -> Self {
        let module = |path: &str| -> Module {
            let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
            let parts = path.split('/').filter(|part| *part != "lib");
            parts.map(str::to_owned).collect()
        };
        let code = |text: &str| {
            let tests = text.find("#[cfg(test)]\nmod tests");
            let code = text[..tests.unwrap_or(text.len())].lines();
            let code = code.filter(|line| !line.trim_start().starts_with("//"));
            code.collect::<Vec<_>>().join("\n")
        };
        let sources = sources
            .iter()
            .map(|(path, text)| (module(path), code(text)));
        let mut modules = Self {
            sources: sources.collect(),
            exports: BTreeMap::new(),
        };
        // A re-export may lead to another one.
        for _ in 0..3 {
            let mut exports = BTreeMap::new();
            for (module, text) in &modules.sources {
                for path in paths(text).into_iter().filter(|path| path.is_export) {
                    let target = modules.resolve(module, &path.segments);
                    if let (Some(target), Some(name)) = (target, path.segments.last()) {
                        exports.insert((module.clone(), name.clone()), target);
                    }
                }
            }
            modules.exports = exports;
        }
        modules
    }

    /// Returns the module that a path names, or that has the item it names.
    fn resolve(&self, from: &Module, path: &[String]) -> Option<Module> {
        let mut rest = path;
        let mut module = match rest.first()?.as_str() {
            "crate" => Module::new(),
            "super" | "self" => from.clone(),
            name if self.has_child(from, name) => from.clone(),
            _ => return None,
        };
        while let Some(first @ ("crate" | "super" | "self")) = rest.first().map(String::as_str) {
            if first == "super" {
                module.pop();
            }
            rest = &rest[1..];
        }
        while let Some(name) = rest.first().filter(|name| self.has_child(&module, name)) {
            module.push(name.clone());
            rest = &rest[1..];
        }
        let export = rest.first().filter(|_| module != *from);
        let export = export.and_then(|name| self.exports.get(&(module.clone(), name.clone())));
        Some(export.cloned().unwrap_or(module))
    }

    fn has_child(&self, module: &Module, name: &str) -> bool {
        let child = module.iter().cloned().chain([name.to_owned()]).collect();
        self.sources.contains_key::<Module>(&child)
    }
}

struct ModulePath {
    segments: Vec<String>,
    is_export: bool,
}

/// Returns the paths of all `use` items, and those in code that start with `crate` or `super`.
fn paths(text: &str) -> Vec<ModulePath> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("use ") {
        let start = rest[..at].rfind('\n').map_or(0, |line| line + 1);
        let before = rest[start..at].trim();
        let end = rest[at..].find(';').map_or(rest.len(), |end| at + end);
        if before.is_empty() || before.starts_with("pub") {
            let is_export = before.starts_with("pub");
            let leaves = leaves(&rest[at + 4..end]);
            found.extend(leaves.into_iter().map(|segments| ModulePath {
                segments,
                is_export,
            }));
            rest = &rest[end..];
        } else {
            rest = &rest[at + 4..];
        }
    }
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for word in text.split(|c| !is_path(c)) {
        if word.starts_with("crate::") || word.starts_with("super::") {
            let segments = word.split("::").map(str::to_owned).collect();
            let is_export = false;
            found.push(ModulePath {
                segments,
                is_export,
            });
        }
    }
    found
}

/// Returns the paths of a `use` tree.
fn leaves(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some((prefix, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![
            path.split("::")
                .map(|part| part.trim().to_owned())
                .collect(),
        ];
    };
    let group = group.trim_end().trim_end_matches('}');
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[start..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    // A group inside a group lost its brace with the outer one's.
    let closed = parts.map(|part| {
        let end = if part.contains('{') && !part.contains('}') {
            "}"
        } else {
            ""
        };
        format!("{prefix}{part}{end}")
    });
    closed.flat_map(|part| leaves(&part)).collect()
}

#[test]
fn circles_are_found() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let crate_with = |c: &str| {
        circles(&[
            file("lib.rs", "mod a;\nmod d;\n"),
            file("a/mod.rs", "mod b;\nmod c;\npub use b::B;\n"),
            file("a/b.rs", "use super::c::{C, D};\n"),
            file("a/c.rs", c),
            file("d.rs", "use crate::a::B;\n"),
        ])
    };
    assert_eq!(crate_with("use std::fmt;\n"), [""; 0]);
    // Through a re-export, in a group, and in code.
    for back in [
        "use crate::d;\n",
        "use crate::{a::B, d};\n",
        "use super::B;\n",
        "fn f(b: super::b::B) {}\n",
    ] {
        assert!(!crate_with(back).is_empty(), "{back}");
    }
    assert_eq!(
        crate_with("// crate::d\n#[cfg(test)]\nmod tests { use crate::d; }\n"),
        [""; 0]
    );
}
