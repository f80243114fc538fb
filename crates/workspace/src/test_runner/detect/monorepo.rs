//! Repositories with several projects.

use std::collections::BTreeSet;

use globset::GlobBuilder;
use windlass_tasks::SubProject;

use super::project_dir::ProjectDir;
use super::proposal::{Detected, TestProposal, line, shell, unquote};
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

/// Returns the projects that a change of these paths touches, with everything that depends on them. Each path belongs
/// to the project with the deepest directory above it. Returns `None` if all projects are touched, or if a path is
/// outside of all projects.
pub(crate) fn touched<'p>(
    projects: &'p [SubProject],
    paths: &[&str],
) -> Option<Vec<&'p SubProject>> {
    let contains = |project: &SubProject, path: &str| {
        let rest = path.strip_prefix(&project.dir);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut touched = BTreeSet::new();
    for path in paths {
        let above = projects.iter().filter(|project| contains(project, path));
        touched.insert(above.max_by_key(|project| project.dir.len())?.dir.as_str());
    }
    let mut pending: Vec<&str> = touched.iter().copied().collect();
    while let Some(dir) = pending.pop() {
        let project = projects.iter().find(|project| project.dir == dir);
        for dependent in project.into_iter().flat_map(|project| &project.dependents) {
            if touched.insert(dependent) {
                pending.push(dependent);
            }
        }
    }
    let found = projects
        .iter()
        .filter(|project| touched.contains(project.dir.as_str()));
    let found: Vec<&SubProject> = found.collect();
    (!found.is_empty() && found.len() < projects.len()).then_some(found)
}

/// Returns a command that runs all of these, also if one fails.
pub(crate) fn combined(commands: &[&[String]]) -> Vec<String> {
    if let [one] = commands {
        return one.to_vec();
    }
    let lines = commands
        .iter()
        .map(|command| format!("{} || status=$?", line(command)));
    let lines: Vec<String> = lines.collect();
    shell(format!("status=0; {}; exit $status", lines.join("; ")))
}

/// One command of [`combined`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandPart {
    /// The directory of the project, or the command itself.
    pub(crate) dir: String,
    pub(crate) command: Vec<String>,
}

/// Returns the commands of which [`combined`] made this one. `None` for any other command.
pub(crate) fn split(command: &[String]) -> Option<Vec<CommandPart>> {
    let [sh, flag, script] = command else {
        return None;
    };
    if (sh.as_str(), flag.as_str()) != ("sh", "-c") {
        return None;
    }
    let lines = script.strip_prefix("status=0; ")?;
    let lines = lines.strip_suffix(" || status=$?; exit $status")?;
    let parts = lines.split(" || status=$?; ").map(unquote);
    let parts: Vec<Vec<String>> = parts.collect::<Option<_>>()?;
    let slices: Vec<&[String]> = parts.iter().map(Vec::as_slice).collect();
    if parts.len() < 2 || combined(&slices) != command {
        return None;
    }
    let with_dir = parts.into_iter().map(|command| {
        let option = command.get(1).filter(|_| command[0] == "env");
        let dir = option.and_then(|word| word.strip_prefix("--chdir="));
        CommandPart {
            dir: dir.map_or_else(|| command.join(" "), str::to_owned),
            command,
        }
    });
    Some(with_dir.collect())
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
    let run_all = |commands: Vec<&[String]>| combined(&commands);
    let setups: Vec<String> = all()
        .filter_map(|detected| detected.proposal.setup.as_deref())
        .map(line)
        .collect();
    Some(Detected {
        installed: run_all(all().map(|detected| &*detected.installed).collect()),
        proposal: TestProposal {
            command: run_all(all().map(|detected| &*detected.proposal.command).collect()),
            setup: (!setups.is_empty()).then(|| shell(setups.join(" && "))),
            projects: Vec::new(),
        },
    })
}

/// Returns the members of a workspace in the root, with the set-up of the root.
pub(super) fn members(
    root: &ProjectDir,
    whole: &Detected,
    all: &[ProjectDir],
) -> Vec<(ProjectDir, Detected)> {
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
            let setup = whole.proposal.setup.clone();
            found.push((dir.clone(), Detected::new(command, setup)));
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
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.is_ok_and(|glob| glob.compile_matcher().is_match(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project((dir, dependents): &(&str, &[&str])) -> SubProject {
        SubProject {
            dir: (*dir).into(),
            command: vec![format!("test-{dir}")],
            dependents: dependents.iter().map(|dir| (*dir).into()).collect(),
        }
    }

    #[track_caller]
    fn check(projects: &[(&str, &[&str])], paths: &[&str], expected: Option<&[&str]>) {
        let projects: Vec<SubProject> = projects.iter().map(project).collect();
        let found = touched(&projects, paths);
        let found = found.map(|all| all.into_iter().map(|project| project.dir.clone()));
        let found: Option<Vec<String>> = found.map(Iterator::collect);
        assert_eq!(
            found.as_deref(),
            expected
                .map(|all| all.iter().map(|dir| (*dir).to_owned()).collect::<Vec<_>>())
                .as_deref(),
            "{paths:?}"
        );
    }

    #[test]
    fn touched_projects_are_those_of_the_paths_and_their_dependents() {
        let apart: [(&str, &[&str]); 4] = [
            ("api", &[]),
            ("lib", &["api"]),
            ("web", &[]),
            ("web/admin", &[]),
        ];
        check(&apart, &["api/main.py"], Some(&["api"]));
        check(&apart, &["api/a", "web/b"], Some(&["api", "web"]));
        check(&apart, &["web/admin/x.ts"], Some(&["web/admin"]));
        check(&apart, &["lib/x.py"], Some(&["api", "lib"]));
        // Outside of all projects, everywhere, and nowhere.
        check(&apart, &["webhook/x"], None);
        check(&apart, &["api/a", "README.md"], None);
        check(&apart, &["lib/a", "web/b", "web/admin/c"], None);
        check(&apart, &[], None);
        check(&[], &["x"], None);
        // Indirectly, and in a circle.
        let chain: [(&str, &[&str]); 4] = [("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &[])];
        check(&chain, &["a/x"], Some(&["a", "b", "c"]));
        check(&chain, &["d/x"], Some(&["d"]));
    }

    #[test]
    fn combined_commands_can_be_split() {
        let own = |words: &[&str]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).collect()
        };
        let first = own(&["env", "--chdir=a b", ".venv/bin/python", "-m", "pytest"]);
        let second = own(&["npm", "test", "it's; x || status=$?", "", "\"$HOME\""]);
        let both = combined(&[&first, &second]);
        let parts = split(&both).unwrap();
        assert_eq!(parts[0].dir, "a b");
        assert_eq!([&parts[0].command, &parts[1].command], [&first, &second]);
        // Other commands, and scripts that only look like it, are run as they are.
        for script in [
            "status=0; a || status=$?; exit $status",
            "status=0; a $(b) || status=$?; c || status=$?; exit $status",
            "status=0; a  b || status=$?; c || status=$?; exit $status",
            "status=0; a || status=$?; c || status=$?; exit 0",
        ] {
            assert_eq!(split(&own(&["sh", "-c", script])), None, "{script}");
        }
        assert_eq!(split(&first), None);
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
