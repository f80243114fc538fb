//! The paths of git that belong to a working directory: what git must be able to read, and what
//! decides which programs the user's next git command runs.

mod config;
mod index;

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Maximum size of an index that is searched for submodules.
const MAX_INDEX_BYTES: u64 = 256 << 20;
/// Maximum size of a configuration file.
const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// Maximum number of submodules, at any depth.
const MAX_SUBMODULES: usize = 500;
/// Maximum depth of included configuration files.
const MAX_INCLUDES: u32 = 5;

/// Settings that name files which git executes or reads settings from, by the last part of
/// their names.
const PROGRAM_SETTINGS: &[&str] = &[
    "askpass",
    "attributesfile",
    "clean",
    "cmd",
    "command",
    "difffilter",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "gitproxy",
    "helper",
    "hookspath",
    "pager",
    "path",
    "process",
    "program",
    "smudge",
    "sshcommand",
    "textconv",
];

/// The paths of git that belong to a working directory.
#[derive(Debug, Default)]
pub(crate) struct RepositoryPaths {
    /// What git must be able to read outside the working directory: the rest of the work tree, and
    /// git directories that are elsewhere.
    pub(crate) readable: Vec<PathBuf>,
    /// Paths in the working directory that must not change, or be created.
    pub(crate) protected: Vec<PathBuf>,
    /// Missing files in the working directory that must not come to exist. Git fails if there is a
    /// directory instead.
    pub(crate) absent: Vec<PathBuf>,
}

impl RepositoryPaths {
    /// Finds the repository of a working directory: there or in a parent, up to the first of the
    /// directories `outside`. The home directory has the user's settings of git.
    pub(crate) fn find(cwd: &Path, home: &Path, outside: &[PathBuf]) -> Self {
        let mut repository = Self::default();
        let is_inside = |dir: &&Path| {
            dir.parent().is_some() && !outside.iter().any(|above| above.starts_with(dir))
        };
        let mut dirs = cwd.ancestors().take_while(is_inside);
        let Some(root) = dirs.find(|dir| dir.join(".git").symlink_metadata().is_ok()) else {
            return repository;
        };
        if root != cwd {
            repository.readable.push(root.to_owned());
        }
        let mut found = WorkTrees {
            cwd,
            home,
            submodules_left: MAX_SUBMODULES,
            repository: &mut repository,
        };
        found.add(root);
        repository
    }
}

/// Collects the paths of a work tree and of its submodules.
struct WorkTrees<'a> {
    cwd: &'a Path,
    home: &'a Path,
    submodules_left: usize,
    repository: &'a mut RepositoryPaths,
}

impl WorkTrees<'_> {
    fn add(&mut self, root: &Path) {
        self.protect(root.join(".git"));
        let Some(git_dir) = GitDir::find(root) else {
            return;
        };
        for dir in [&git_dir.path, &git_dir.common] {
            if dir.starts_with(self.cwd) {
                self.protect(dir.clone());
            } else if git_dir.is_proven {
                self.repository.readable.push(dir.clone());
            }
        }
        let home = self.home;
        let files = [
            git_dir.path.join("config"),
            git_dir.path.join("config.worktree"),
            git_dir.common.join("config"),
            home.join(".gitconfig"),
            home.join(".config/git/config"),
            "/etc/gitconfig".into(),
        ];
        // The main work tree of the repository, where the settings may include files.
        let main = git_dir.common.parent().filter(|_| git_dir.is_proven);
        let trees = ConfigTrees {
            root,
            main: main.unwrap_or(root),
        };
        for file in files {
            self.add_config(&trees, &file, MAX_INCLUDES);
        }
        let index = read(&git_dir.path.join("index"), MAX_INDEX_BYTES);
        for path in index::gitlinks(&index.unwrap_or_default()) {
            let is_plain = path
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
            if is_plain && self.submodules_left > 0 {
                self.submodules_left -= 1;
                self.add_submodule(root.join(path));
            }
        }
    }

    /// Adds a submodule. One without a git directory is protected as a whole, so that it gets none:
    /// git rejects an empty directory there.
    fn add_submodule(&mut self, root: PathBuf) {
        if root.join(".git").symlink_metadata().is_ok() {
            self.add(&root);
        } else {
            self.protect(root);
        }
    }

    /// Protects the files that a configuration file names, and those that the files it includes
    /// name.
    fn add_config(&mut self, trees: &ConfigTrees<'_>, file: &Path, depth: u32) {
        let root = trees.root;
        let text = read(file, MAX_CONFIG_BYTES).unwrap_or_default();
        for (name, value) in config::parse(&String::from_utf8_lossy(&text)) {
            let last = name.rsplit('.').next().unwrap_or_default();
            let is_include = last == "path" && name.starts_with("include");
            if is_include && depth > 0 {
                let dir = file.parent().unwrap_or(root);
                let included = self.expand(dir, &value);
                self.add_config(trees, &included, depth - 1);
                if included
                    .canonicalize()
                    .is_ok_and(|real| real.starts_with(trees.main))
                {
                    self.repository.readable.push(included.clone());
                }
                self.protect_file(included);
            } else if last == "hookspath" {
                self.protect(self.expand(root, &value));
            } else if PROGRAM_SETTINGS.contains(&last) || name.starts_with("alias.") {
                let words = value.split(|c: char| c.is_whitespace() || "'\"!;|&()".contains(c));
                for word in words.filter(|word| !word.is_empty()) {
                    let path = self.expand(root, word);
                    if path.symlink_metadata().is_ok() {
                        self.protect(path);
                    }
                }
            }
        }
    }

    fn expand(&self, dir: &Path, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(below) => self.home.join(below),
            None => dir.join(path),
        }
    }

    /// Protects a path if it is inside the working directory.
    fn protect(&mut self, path: PathBuf) {
        let Some(path) = normalize(&path) else {
            return;
        };
        add_below(self.cwd, path, &mut self.repository.protected);
    }

    /// Protects an included file.
    fn protect_file(&mut self, path: PathBuf) {
        if path.symlink_metadata().is_ok() {
            self.protect(path);
        } else if let Some(path) = normalize(&path) {
            add_below(self.cwd, path, &mut self.repository.absent);
        }
    }
}

/// Adds a path to the list if it is below the directory and not yet there.
fn add_below(dir: &Path, path: PathBuf, list: &mut Vec<PathBuf>) {
    if path != dir && path.starts_with(dir) && !list.contains(&path) {
        list.push(path);
    }
}

/// The work trees that a configuration file applies to.
struct ConfigTrees<'a> {
    root: &'a Path,
    /// The work tree next to the git directory, which a linked work tree shares.
    main: &'a Path,
}

/// The git directory of a work tree.
struct GitDir {
    path: PathBuf,
    /// The directory that it shares with other work trees of the repository.
    common: PathBuf,
    /// Whether the git directory itself names the work tree. A file `.git` alone could name any
    /// directory.
    is_proven: bool,
}

impl GitDir {
    fn find(root: &Path) -> Option<Self> {
        let git = root.join(".git");
        if git.is_dir() {
            return Some(Self {
                path: git.clone(),
                common: git,
                is_proven: true,
            });
        }
        let text = read(&git, MAX_CONFIG_BYTES)?;
        let named = String::from_utf8(text).ok()?;
        let path = root.join(named.strip_prefix("gitdir:")?.trim());
        let path = path.canonicalize().ok()?;
        let is_worktree = read(&path.join("gitdir"), MAX_CONFIG_BYTES)
            .and_then(|text| String::from_utf8(text).ok())
            .is_some_and(|text| is_same(&path.join(text.trim()), &git));
        if is_worktree {
            // `COMMON/worktrees/NAME`. The file `commondir` could name any directory.
            let common = path.parent()?.parent()?.to_owned();
            return Some(Self {
                path,
                common,
                is_proven: true,
            });
        }
        let config = read(&path.join("config"), MAX_CONFIG_BYTES).unwrap_or_default();
        let settings = config::parse(&String::from_utf8_lossy(&config));
        let mut worktrees = settings.iter().filter(|(name, _)| name == "core.worktree");
        Some(Self {
            is_proven: worktrees.any(|(_, value)| is_same(&path.join(value), root)),
            common: path.clone(),
            path,
        })
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Returns the path without `.` and `..`, or `None` if it leaves the root.
fn normalize(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            part => normal.push(part),
        }
    }
    Some(normal)
}

/// Returns the content of a regular file, or `None` if it is missing or too large.
fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let found = path.metadata().ok()?;
    if !found.is_file() || found.len() > limit {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
