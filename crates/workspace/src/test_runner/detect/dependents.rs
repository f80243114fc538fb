//! Which projects of a repository refer to which.

use super::MANIFESTS;
use super::project_dir::ProjectDir;

/// Further files that name what a project needs.
const OTHERS: &[&str] = &["go.work", "settings.gradle", "settings.gradle.kts"];

/// Returns, for each project, the indexes of those that refer to it in a manifest: by its name, or by a path that
/// ends with its directory. A name that only looks like it counts too: more tests are run then.
pub(super) fn dependents(dirs: &[ProjectDir]) -> Vec<Vec<usize>> {
    let texts: Vec<String> = dirs.iter().map(manifests).collect();
    let names: Vec<Vec<String>> = dirs.iter().map(names).collect();
    let refers = |text: &str, at: usize| {
        let last = dirs[at].name.rsplit('/').next().unwrap_or_default();
        contains_word(text, &format!("/{last}"))
            || names[at].iter().any(|name| contains_word(text, name))
    };
    (0..dirs.len())
        .map(|at| {
            let others = (0..dirs.len()).filter(|other| *other != at);
            others.filter(|other| refers(&texts[*other], at)).collect()
        })
        .collect()
}

fn manifests(dir: &ProjectDir) -> String {
    let files = MANIFESTS.iter().chain(OTHERS);
    let texts: Vec<String> = files.map(|name| dir.text(name)).collect();
    texts.join("\n")
}

/// Returns the names under which other projects may depend on this one.
fn names(dir: &ProjectDir) -> Vec<String> {
    let toml = |file: &str, table: &str| {
        let manifest = dir.toml(file);
        let name = manifest.get(table)?.get("name")?.as_str()?;
        Some(name.to_owned())
    };
    let module = dir.text("go.mod");
    let module = module.lines().find_map(|line| line.strip_prefix("module "));
    let pom = dir.text("pom.xml");
    let artifact = pom.split("<artifactId>").skip(1);
    let artifacts = artifact.filter_map(|rest| rest.split('<').next());
    let found = [
        toml("Cargo.toml", "package"),
        toml("pyproject.toml", "project"),
        dir.json("package.json")["name"].as_str().map(str::to_owned),
        module.map(|module| module.trim().to_owned()),
    ];
    let found = found.into_iter().flatten();
    // The artifact of a parent is among them: its other modules depend on each other then.
    let all = found.chain(artifacts.map(str::to_owned));
    all.filter(|name| !name.trim().is_empty()).collect()
}

/// Returns `true` if the text contains the word, and not only as a part of a longer one.
fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let starts_inside = word.starts_with(is_part) && before.is_some_and(is_part);
        !starts_inside && !after.is_some_and(is_part)
    })
}
