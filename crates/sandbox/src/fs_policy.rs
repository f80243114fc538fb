//! What a process may read and write, as path rules that are independent of the mechanism.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::host::Host;
use crate::network::Network;
use crate::profile::{Profile, ProfileKind};
use crate::{path_lists, working_dir};

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
    /// The working directory, if it is writable and therefore has paths to protect.
    pub(crate) protected_dir: Option<PathBuf>,
    /// The initial working directory of the process.
    pub(crate) cwd: PathBuf,
    pub(crate) network: Network,
    pub(crate) kind: ProfileKind,
}

impl FsPolicy {
    pub(crate) fn new(profile: &Profile, host: &Host, cwd: &Path) -> Result<Self> {
        let cwd = working_dir::canonical_dir(cwd)?;
        let mut policy = Self {
            rules: BTreeMap::new(),
            protected_dir: None,
            cwd,
            network: profile.network.clone(),
            kind: profile.kind,
        };
        policy.add_system_rules(host);
        policy.add_home_rules(host);
        policy.toolchains(host);
        policy.add_profile_rules(profile)?;
        policy.allow_working_dir(host);
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

    fn add_system_rules(&mut self, host: &Host) {
        self.set("/", Access::Read);
        for path in path_lists::TEMP_DIRS {
            self.set(path, Access::Private);
        }
        for path in path_lists::SYSTEM_SECRETS {
            self.set(path, Access::Hidden);
        }
        for path in path_lists::RUN_NEEDED {
            self.set(path, Access::Read);
        }
        // Name resolution reads this file, which is often a link into `/run`.
        self.set("/etc/resolv.conf", Access::Read);
        if let Some(dir) = host.variable("XDG_RUNTIME_DIR") {
            self.set(dir, Access::Hidden);
        }
    }

    fn add_home_rules(&mut self, host: &Host) {
        let home = host.home();
        if self.kind == ProfileKind::Agent {
            // The home directory may be under a temporary directory, which is hidden.
            self.set(home, Access::Read);
        } else {
            for path in path_lists::HOME_ROOTS {
                self.set(path, Access::Hidden);
            }
            self.set(home, Access::Private);
            for dir in path_lists::TOOLCHAINS {
                self.set(home.join(dir), Access::Read);
            }
        }
        if self.kind == ProfileKind::Test {
            for dir in path_lists::BUILD_CACHES {
                self.set(home.join(dir), Access::Read);
            }
        }
        for path in path_lists::HOME_SECRETS {
            self.set(home.join(path), Access::Hidden);
        }
    }

    /// Makes toolchains in unusual directories readable: those that the user's variables name, and
    /// those on the `PATH` that are under a temporary directory.
    fn toolchains(&mut self, host: &Host) {
        for name in ["CARGO_HOME", "RUSTUP_HOME"] {
            if let Some(dir) = host.variable(name) {
                self.show(Path::new(dir));
            }
        }
        let temp_dirs = path_lists::TEMP_DIRS.iter().map(Path::new);
        let temp_dirs: Vec<PathBuf> = temp_dirs
            .filter_map(|dir| dir.canonicalize().ok())
            .collect();
        for dir in std::env::split_paths(host.path()).filter(|dir| dir.is_absolute()) {
            let Ok(real) = dir.canonicalize() else {
                continue;
            };
            // A home directory under a temporary directory has its own rule.
            if temp_dirs.iter().any(|dir| dir == self.rule_for(&real)) {
                self.show_installation(&real);
            }
        }
        for path in host.readable() {
            self.set(path, Access::Read);
        }
    }

    /// Makes the directory of a program readable, together with the rest of its installation: for
    /// `PREFIX/bin` that is `PREFIX`.
    pub(crate) fn show_installation(&mut self, dir: &Path) {
        let is_bin = dir
            .file_name()
            .is_some_and(|name| name == "bin" || name == ".bin" || name == "sbin");
        let prefix = dir.parent().filter(|_| is_bin);
        if !prefix.is_some_and(|prefix| self.show(prefix)) {
            self.show(dir);
        }
    }

    /// Makes a path readable if only the rule for a parent directory hides it. A rule for the path
    /// itself still applies, and so does one that hides a secret. Returns `true` if the path is
    /// readable now.
    pub(crate) fn show(&mut self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else {
            return false;
        };
        let ruled = self.rule_for(&real);
        let can_be_shown = match self.access(&real) {
            Access::Read | Access::Write => return true,
            Access::Private => ruled != real,
            Access::Hidden => ruled != real && is_home_root(ruled),
        };
        if can_be_shown {
            self.rules.insert(real, Access::Read);
        }
        can_be_shown
    }

    /// Returns the path whose rule applies to `path`.
    pub(crate) fn rule_for<'a>(&self, path: &'a Path) -> &'a Path {
        let mut above = path.ancestors();
        above
            .find(|above| self.rules.contains_key(*above))
            .unwrap_or(path)
    }

    fn add_profile_rules(&mut self, profile: &Profile) -> Result<()> {
        for path in &profile.hide {
            self.set(path, Access::Hidden);
        }
        for path in &profile.read {
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
            self.rules.insert(real, Access::Write);
        }
        Ok(())
    }

    /// Makes the working directory writable, unless it contains the home directory or is the file
    /// system root.
    fn allow_working_dir(&mut self, host: &Host) {
        let cwd = self.cwd.clone();
        if host.home().starts_with(&cwd) || !working_dir::is_writable(&cwd) {
            self.rules.insert(cwd, Access::Read);
        } else {
            self.rules.insert(cwd.clone(), Access::Write);
            self.protected_dir = Some(cwd);
        }
    }

    /// Removes rules that would make a path under a writable directory read-only: a project may
    /// contain its own toolchain.
    fn widen_only(&mut self) {
        let is_narrower = |(path, access): (&PathBuf, &Access)| {
            *access == Access::Read && self.inherited_access(path) == Access::Write
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

    /// Adds a rule for the canonical path. A missing path needs no rule: the process cannot create
    /// it.
    fn set(&mut self, path: impl AsRef<Path>, access: Access) {
        if let Ok(real) = path.as_ref().canonicalize() {
            self.rules.insert(real, access);
        }
    }
}

/// Returns `true` if this directory is hidden only because it contains home directories.
fn is_home_root(path: &Path) -> bool {
    path_lists::HOME_ROOTS
        .iter()
        .any(|home| Path::new(home) == path)
}

fn bad_path(path: &Path, problem: String) -> Error {
    Error::Path {
        path: path.to_owned(),
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(profile: Profile, variables: &[(&str, &Path)], cwd: &Path) -> FsPolicy {
        FsPolicy::new(&profile, &Host::new(variables.iter().copied()), cwd).unwrap()
    }

    #[test]
    fn deepest_rule_applies() {
        let home = tempfile::tempdir().unwrap();
        for dir in [".cargo/registry", ".ssh", "project"] {
            std::fs::create_dir_all(home.path().join(dir)).unwrap();
        }
        std::fs::write(home.path().join(".cargo/credentials.toml"), "").unwrap();
        let policy = policy(
            Profile::tool(),
            &[("HOME", home.path())],
            &home.path().join("project"),
        );
        for (path, access) in [
            ("", Access::Private),
            (".cargo/registry/cache", Access::Read),
            (".cargo/credentials.toml", Access::Hidden),
            (".ssh/id", Access::Hidden),
            ("project/src", Access::Write),
        ] {
            assert_eq!(
                policy.access(&home.path().canonicalize().unwrap().join(path)),
                access,
                "{path}"
            );
        }
        assert_eq!(policy.access(Path::new("/usr/bin")), Access::Read);
    }

    #[test]
    fn toolchain_in_working_dir_stays_writable() {
        let project = tempfile::tempdir().unwrap();
        let toolchain = project.path().join("cargo");
        std::fs::create_dir(&toolchain).unwrap();
        let policy = policy(
            Profile::test(),
            &[("CARGO_HOME", &toolchain)],
            project.path(),
        );
        assert_eq!(
            policy.access(&toolchain.canonicalize().unwrap()),
            Access::Write
        );
    }

    #[test]
    fn p16_filesystem_root_is_not_a_writable_working_dir() {
        assert!(
            policy(Profile::agent(), &[], Path::new("/"))
                .protected_dir
                .is_none()
        );
    }
}
