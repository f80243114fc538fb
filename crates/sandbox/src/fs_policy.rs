//! What a process may read and write, as path rules that are independent of the mechanism.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::DirAccess;

use crate::error::{Error, Result};
use crate::host::Host;
use crate::links;
use crate::network::Network;
use crate::path_lists;
use crate::profile::{Profile, ProfileKind};
use crate::repository::RepositoryPaths;
use crate::working_dir;

/// The root of the file system.
pub(crate) const ROOT: &str = "/";

/// The access to a path and everything under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Access {
    /// No access: not even the content is visible.
    Hidden,
    /// Full access to an empty private directory that is removed when the process ends.
    Private,
    /// Read and execute.
    Read,
    /// Read, execute and write.
    Write,
}

/// The rules for one process. The rule for the deepest path applies.
#[derive(Debug)]
pub(crate) struct FsPolicy {
    /// Canonical paths; a directory sorts before its content.
    pub(crate) rules: BTreeMap<PathBuf, Access>,
    /// Links on the way to readable paths, each in its real directory. A mechanism that replaces that
    /// directory recreates them.
    pub(crate) links: BTreeMap<PathBuf, PathBuf>,
    /// Directories in the root that exist for the process, and are empty unless a rule shows more.
    pub(crate) root_names: Vec<PathBuf>,
    /// Secrets: hidden paths that [`show`](Self::show) leaves hidden.
    secrets: BTreeSet<PathBuf>,
    /// What may be changed in the working directory.
    pub(crate) access: DirAccess,
    /// The working directory, if it is writable and therefore has paths to protect.
    pub(crate) protected_dir: Option<PathBuf>,
    /// The paths of git that belong to the working directory.
    pub(crate) repository: RepositoryPaths,
    /// What belongs to Windlass itself, which may not exist.
    pub(crate) own_paths: Vec<PathBuf>,
    /// The initial working directory of the process.
    pub(crate) cwd: PathBuf,
    pub(crate) network: Network,
    pub(crate) kind: ProfileKind,
    /// See [`Profile::programs_only`].
    pub(crate) programs_only: bool,
}

impl FsPolicy {
    pub(crate) fn new(profile: &Profile, host: &Host, cwd: &Path) -> Result<Self> {
        let cwd = working_dir::canonical_dir(cwd)?;
        let mut policy = Self {
            rules: BTreeMap::from([(ROOT.into(), Access::Hidden)]),
            links: BTreeMap::new(),
            root_names: Vec::new(),
            secrets: BTreeSet::new(),
            access: profile.access,
            protected_dir: None,
            repository: RepositoryPaths::default(),
            own_paths: host.own_paths(),
            cwd,
            network: profile.network.clone(),
            kind: profile.kind,
            programs_only: profile.programs_only,
        };
        if profile.programs_only {
            policy.show_system_programs();
            policy.hide_home(host);
            policy.allow_working_dir(host);
        } else {
            policy.show_system(host);
            policy.hide_home(host);
            policy.allow_working_dir(host);
            policy.show_repository(host);
            policy.show_home_paths(host);
            policy.show_toolchains(host);
        }
        policy.add_profile_rules(profile, host)?;
        policy.hide_own_paths()?;
        policy.keep_working_dir_read_only(host);
        // No setting shows or opens the root as a whole.
        policy.rules.insert(ROOT.into(), Access::Hidden);
        policy.widen_only();
        Ok(policy)
    }

    /// Returns the access to a path.
    pub(crate) fn access(&self, path: &Path) -> Access {
        let nearest = path.ancestors().find_map(|above| self.rules.get(above));
        nearest.copied().unwrap_or(Access::Hidden)
    }

    /// Returns the access that a path would have without its own rule.
    pub(crate) fn inherited_access(&self, path: &Path) -> Access {
        path.parent()
            .map_or(Access::Hidden, |parent| self.access(parent))
    }

    /// Returns `true` if the process can read the path of the host.
    pub(crate) fn is_visible(&self, path: &Path) -> bool {
        matches!(self.access(path), Access::Read | Access::Write)
    }

    /// Returns the path of the rule that applies to `path`.
    pub(crate) fn rule_for<'a>(&self, path: &'a Path) -> &'a Path {
        let mut above = path.ancestors();
        above
            .find(|above| self.rules.contains_key(*above))
            .unwrap_or(path)
    }

    /// Makes a path readable if only the rule for a parent directory hides it. A rule for the path
    /// itself still applies, and so does one that hides a secret. A directory that contains a
    /// private one, such as that of all homes, is not shown either. Returns `true` if the path is readable now.
    pub(crate) fn show(&mut self, path: &Path) -> bool {
        let Some(real) = links::canonical(path) else {
            return false;
        };
        if !self.is_visible(&real) {
            let ruled = self.rule_for(&real);
            if ruled == real || self.secrets.contains(ruled) || self.contains_private(&real) {
                return false;
            }
            self.rules.insert(real.clone(), Access::Read);
        }
        self.keep_links(path);
        true
    }

    /// Makes the directory of a program readable. For `PREFIX/bin` that is `PREFIX`, if it looks
    /// like an installation: a directory of projects may contain programs too.
    pub(crate) fn show_installation(&mut self, dir: &Path) {
        let is_bin = dir
            .file_name()
            .is_some_and(|name| name == "bin" || name == ".bin" || name == "sbin");
        let prefix = dir
            .parent()
            .filter(|prefix| is_bin && !self.is_visible(dir) && is_installation(prefix));
        if !prefix.is_some_and(|prefix| self.show(prefix)) {
            self.show(dir);
        }
    }

    /// Adds a rule for the canonical path. A missing path needs no rule: the process cannot create
    /// it.
    pub(crate) fn set(&mut self, path: impl AsRef<Path>, access: Access) {
        let path = path.as_ref();
        if let Some(real) = links::canonical(path) {
            self.keep_links(path);
            self.rules.insert(real, access);
        }
    }

    /// Hides a path, and everything in it that no other rule allows.
    pub(crate) fn hide_secret(&mut self, path: impl AsRef<Path>) {
        if let Some(real) = links::canonical(path.as_ref()) {
            self.rules.insert(real.clone(), Access::Hidden);
            self.secrets.insert(real);
        }
    }

    /// Remembers the links on a path.
    pub(crate) fn keep_links(&mut self, path: &Path) {
        if path.is_absolute() {
            self.links.extend(links::on_path(path));
        }
    }

    /// Returns `true` if the process can read the path, or something in it, or has a private directory
    /// there.
    pub(crate) fn leads_to_visible(&self, path: &Path) -> bool {
        let mut rules = self.rules.iter();
        self.access(path) != Access::Hidden
            || rules.any(|(rule, access)| *access != Access::Hidden && rule.starts_with(path))
    }

    fn contains_private(&self, dir: &Path) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|(path, access)| *access == Access::Private && path.starts_with(dir))
    }

    fn add_profile_rules(&mut self, profile: &Profile, host: &Host) -> Result<()> {
        for path in &profile.hide {
            self.hide_secret(path);
        }
        for path in host.readable().iter().chain(&profile.read) {
            self.set(path, Access::Read);
        }
        for path in &profile.state {
            std::fs::create_dir_all(path)
                .map_err(|error| bad_path(path, format!("cannot be created: {error}")))?;
        }
        for path in profile.write.iter().chain(&profile.state) {
            let real = path
                .canonicalize()
                .map_err(|error| bad_path(path, error.to_string()))?;
            self.keep_links(path);
            self.rules.insert(real, Access::Write);
        }
        Ok(())
    }

    /// Makes the working directory writable, unless the profile makes it read-only or it contains
    /// the home directory. The root needs no rule.
    fn allow_working_dir(&mut self, host: &Host) {
        let cwd = self.cwd.clone();
        if cwd == Path::new(ROOT) {
            return;
        }
        let is_read_only = self.access == DirAccess::ReadOnly || host.home().starts_with(&cwd);
        if is_read_only || !working_dir::is_writable(&cwd) {
            self.rules.insert(cwd.clone(), Access::Read);
            self.hide_secret(cwd.join(path_lists::STORE_DIR));
        } else {
            self.rules.insert(cwd.clone(), Access::Write);
            self.protected_dir = Some(cwd);
        }
    }

    /// Hides Windlass's own directories, whatever the settings make readable. What the profile
    /// names below them stays visible.
    fn hide_own_paths(&mut self) -> Result<()> {
        for dir in self.own_paths.clone() {
            if dir.canonicalize().is_ok_and(|real| real == self.cwd) {
                return Err(Error::WorkingDirectory {
                    path: self.cwd.clone(),
                    problem: "belongs to Windlass: give another".into(),
                });
            }
            self.hide_secret(dir);
        }
        Ok(())
    }

    /// Removes rules that make a part of a read-only working directory writable. Where that is the
    /// home directory, they are for the state of an agent.
    fn keep_working_dir_read_only(&mut self, host: &Host) {
        let cwd = &self.cwd;
        if self.access == DirAccess::ReadOnly && !host.home().starts_with(cwd) {
            self.rules
                .retain(|path, access| *access != Access::Write || !path.starts_with(cwd));
            self.rules.insert(cwd.clone(), Access::Read);
        }
    }

    /// Removes rules that would make a path under a writable directory read-only: a project may
    /// contain its own toolchain.
    fn widen_only(&mut self) {
        let is_narrower = |(path, access): (&PathBuf, &Access)| {
            *access == Access::Read
                && *path != self.cwd
                && self.inherited_access(path) == Access::Write
        };
        let narrower: Vec<PathBuf> = self
            .rules
            .iter()
            .filter(|rule| is_narrower(*rule))
            .map(|(path, _)| path.clone())
            .collect();
        for path in narrower {
            self.rules.remove(&path);
        }
    }
}

/// Returns `true` if a directory looks like the prefix of an installation, and not like a project.
fn is_installation(prefix: &Path) -> bool {
    const SIGNS: [&str; 7] = [
        "lib",
        "lib64",
        "libexec",
        "share",
        "pyvenv.cfg",
        "package.json",
        "node_modules",
    ];
    let is_node_modules = prefix
        .file_name()
        .is_some_and(|name| name == "node_modules");
    is_node_modules
        || SIGNS.iter().any(|name| prefix.join(name).exists()) && !prefix.join(".git").exists()
}

fn bad_path(path: &Path, problem: String) -> Error {
    Error::Path {
        path: path.to_owned(),
        problem,
    }
}
