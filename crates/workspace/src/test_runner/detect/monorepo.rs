//! Repositories with several projects.

use super::project_dir::ProjectDir;
use super::proposal::{Detected, TestProposal, line, shell};
use super::{cargo, node};

/// How deep a project may be in a repository.
const MAX_DEPTH: usize = 3;
/// Maximum number of directories that are examined.
const MAX_DIRS: usize = 2_000;

/// Directories that contain no projects of the repository.
const SKIPPED: &[&str] = &[
    "node_modules",
    "target",
    "vendor",
    "third_party",
    "testdata",
    "fixtures",
    "examples",
    "docs",
    "dist",
    "build",
    "venv",
];

/// One project of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubProject {
    /// Its directory, relative to the root of the repository. Empty for the root.
    pub dir: String,
    /// How it is tested. The commands are started in the root of the repository.
    pub tests: TestProposal,
}

/// Returns the commands that test what these paths belong to: each path belongs to the project with
/// the deepest directory above it. Without paths, and for a path outside all projects, all projects
/// count.
pub fn commands_for<'p>(projects: &'p [SubProject], paths: &[&str]) -> Vec<&'p TestProposal> {
    let contains = |project: &SubProject, path: &str| {
        let rest = path.strip_prefix(&project.dir);
        project.dir.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut touched = vec![false; projects.len()];
    for path in paths {
        let above = projects.iter().enumerate();
        let above = above.filter(|(_, project)| contains(project, path));
        match above.max_by_key(|(_, project)| project.dir.len()) {
            Some((index, _)) => touched[index] = true,
            None => touched.fill(true),
        }
    }
    let root = projects.iter().position(|project| project.dir.is_empty());
    match root {
        // The root tests everything.
        Some(root) if paths.is_empty() || touched[root] => vec![&projects[root].tests],
        None if paths.is_empty() => projects.iter().map(|project| &project.tests).collect(),
        _ => {
            let touched = projects.iter().zip(touched).filter(|(_, touched)| *touched);
            touched.map(|(project, _)| &project.tests).collect()
        }
    }
}

/// Combines several commands to one that runs all of them, also if one fails.
pub(super) fn combine(all: Vec<Detected>) -> Option<Detected> {
    let mut all = all.into_iter();
    let first = all.next()?;
    let rest: Vec<Detected> = all.collect();
    if rest.is_empty() {
        return Some(first);
    }
    let all = || std::iter::once(&first).chain(&rest);
    let run_all = |commands: Vec<&[String]>| {
        let lines = commands
            .iter()
            .map(|command| format!("{} || status=$?", line(command)));
        let lines: Vec<String> = lines.collect();
        shell(format!("status=0; {}; exit $status", lines.join("; ")))
    };
    let setups: Vec<String> = all()
        .filter_map(|detected| detected.proposal.setup.as_deref())
        .map(line)
        .collect();
    Some(Detected {
        installed: run_all(all().map(|detected| &*detected.installed).collect()),
        proposal: TestProposal {
            command: run_all(all().map(|detected| &*detected.proposal.command).collect()),
            setup: (!setups.is_empty()).then(|| shell(setups.join(" && "))),
        },
    })
}

/// Returns the members of a workspace in the root, with the set-up of the root.
pub(super) fn members(root: &ProjectDir, whole: &Detected, all: &[ProjectDir]) -> Vec<SubProject> {
    let rust = cargo::workspace_patterns(root);
    let javascript = node::workspace_patterns(root);
    let matches = |patterns: &[String], dir: &str| {
        let (without, with): (Vec<&String>, Vec<&String>) = patterns
            .iter()
            .partition(|pattern| pattern.starts_with('!'));
        let is_excluded = without
            .iter()
            .any(|pattern| matches_glob(&pattern[1..], dir));
        !is_excluded && with.iter().any(|pattern| matches_glob(pattern, dir))
    };
    let mut found = Vec::new();
    for dir in all {
        let command = match () {
            () if matches(&rust, &dir.name) => cargo::member_command(dir),
            () if matches(&javascript, &dir.name) => node::member_command(root, dir),
            () => None,
        };
        if let Some(command) = command {
            found.push(SubProject {
                dir: dir.name.clone(),
                tests: TestProposal {
                    command,
                    setup: whole.proposal.setup.clone(),
                },
            });
        }
    }
    found
}

/// Returns the directories that may contain a project, without the root.
pub(super) fn directories(root: &ProjectDir) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), 0)];
    while let Some((dir, depth)) = pending.pop() {
        for name in root.dirs(&dir) {
            let is_skipped = name.starts_with('.') || SKIPPED.contains(&&*name);
            if is_skipped || found.len() >= MAX_DIRS {
                continue;
            }
            let path = if dir.is_empty() {
                name
            } else {
                format!("{dir}/{name}")
            };
            if depth + 1 < MAX_DEPTH {
                pending.push((path.clone(), depth + 1));
            }
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns `true` if a path matches a pattern in which `*` is any text within a name, and `**` any
/// number of names.
fn matches_glob(pattern: &str, path: &str) -> bool {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    matches_names(&pattern, &path)
}

fn matches_names(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            (0..=path.len()).any(|skipped| matches_names(rest, &path[skipped..]))
        }
        (Some((name, patterns)), Some((first, names))) => {
            matches_name(name, first) && matches_names(patterns, names)
        }
        _ => false,
    }
}

fn matches_name(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(dir: &str) -> SubProject {
        SubProject {
            dir: dir.into(),
            tests: TestProposal {
                command: vec![format!("test-{dir}")],
                setup: None,
            },
        }
    }

    #[track_caller]
    fn check(projects: &[&str], paths: &[&str], expected: &[&str]) {
        let projects: Vec<SubProject> = projects.iter().map(|dir| project(dir)).collect();
        let found = commands_for(&projects, paths);
        let found: Vec<&str> = found.iter().map(|tests| &*tests.command[0]).collect();
        assert_eq!(found, expected, "{paths:?}");
    }

    #[test]
    fn commands_are_those_of_the_touched_projects() {
        let apart = ["api", "web", "web/admin"];
        check(&apart, &["api/main.py"], &["test-api"]);
        check(&apart, &["api/a", "web/b"], &["test-api", "test-web"]);
        check(&apart, &["web/admin/x.ts"], &["test-web/admin"]);
        check(
            &apart,
            &["webhook/x"],
            &["test-api", "test-web", "test-web/admin"],
        );
        check(&apart, &[], &["test-api", "test-web", "test-web/admin"]);
        let workspace = ["", "crates/a", "crates/b"];
        check(&workspace, &["crates/a/src/lib.rs"], &["test-crates/a"]);
        check(&workspace, &["crates/a/x", "Cargo.toml"], &["test-"]);
        check(&workspace, &["crates/ab/x"], &["test-"]);
        check(&workspace, &[], &["test-"]);
        check(&[], &["x"], &[]);
    }

    #[test]
    fn patterns_match_like_those_of_workspaces() {
        for (pattern, path, expected) in [
            ("packages/*", "packages/a", true),
            ("packages/*", "packages/a/b", false),
            ("packages/**", "packages/a/b", true),
            ("./packages/*/", "packages/a", true),
            ("apps/web-*", "apps/web-one", true),
            ("apps/web-*", "apps/other", false),
            ("crates/a", "crates/a", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxc", false),
        ] {
            assert_eq!(matches_glob(pattern, path), expected, "{pattern} {path}");
        }
    }
}
