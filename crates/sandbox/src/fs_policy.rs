//! What a process may see and change, as rules for paths, before any mechanism has a say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::host::Host;
use crate::profile::{Profile, ProfileKind};
use crate::{path_lists, working_dir};

/// What may be done with a path and all below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Access {
    /// Nothing: not even its content can be seen.
    Hidden,
    /// Everything, in an empty folder of the process's own that vanishes with it.
    Private,
    /// Reading and running.
    Read,
    /// Reading, running and changing.
    Write,
}

/// The rules for one process. The rule for the deepest path holds.
#[derive(Debug)]
pub(crate) struct FsPolicy {
    /// Real paths; a folder comes before what is in it.
    pub(crate) rules: BTreeMap<PathBuf, Access>,
    /// The working directory, if it is writable and so has things to protect.
    pub(crate) workplace: Option<PathBuf>,
    /// Where the process starts.
    pub(crate) cwd: PathBuf,
    pub(crate) network: bool,
    pub(crate) kind: ProfileKind,
}

impl FsPolicy {
    pub(crate) fn new(profile: &Profile, host: &Host, cwd: &Path) -> Result<Self> {
        let cwd = working_dir::canonical_dir(cwd)?;
        let mut view = Self {
            rules: BTreeMap::new(),
            workplace: None,
            cwd,
            network: profile.network,
            kind: profile.kind,
        };
        view.add_system_rules(host);
        view.add_home_rules(host);
        view.toolchains(host);
        view.add_profile_rules(profile)?;
        view.allow_working_dir(host);
        view.widen_only();
        Ok(view)
    }

    /// The rule that holds for a path.
    pub(crate) fn access(&self, path: &Path) -> Access {
        let nearest = path.ancestors().find_map(|above| self.rules.get(above));
        nearest.copied().unwrap_or(Access::Hidden)
    }

    /// The rule that would hold for a path if it had none of its own.
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
        // Name look-ups read this, and it is often a link into `/run`.
        self.set("/etc/resolv.conf", Access::Read);
        if let Some(folder) = host.variable("XDG_RUNTIME_DIR") {
            self.set(folder, Access::Hidden);
        }
    }

    fn add_home_rules(&mut self, host: &Host) {
        let home = host.home();
        if self.kind == ProfileKind::Agent {
            // It may be under a temporary folder, which is hidden.
            self.set(home, Access::Read);
        } else {
            for path in path_lists::HOME_ROOTS {
                self.set(path, Access::Hidden);
            }
            self.set(home, Access::Private);
            for folder in path_lists::TOOLCHAINS {
                self.set(home.join(folder), Access::Read);
            }
        }
        if self.kind == ProfileKind::Test {
            for folder in path_lists::BUILD_CACHES {
                self.set(home.join(folder), Access::Read);
            }
        }
        for path in path_lists::HOME_SECRETS {
            self.set(home.join(path), Access::Hidden);
        }
    }

    /// Shows toolchains in unusual places: those that the user names, and those that are on the
    /// `PATH` and would vanish with the temporary folders.
    fn toolchains(&mut self, host: &Host) {
        for name in ["CARGO_HOME", "RUSTUP_HOME"] {
            if let Some(folder) = host.variable(name) {
                self.show(Path::new(folder));
            }
        }
        let temp_dirs = path_lists::TEMP_DIRS.iter().map(Path::new);
        let temp_dirs: Vec<PathBuf> = temp_dirs
            .filter_map(|dir| dir.canonicalize().ok())
            .collect();
        for folder in std::env::split_paths(host.path()).filter(|folder| folder.is_absolute()) {
            let Ok(real) = folder.canonicalize() else {
                continue;
            };
            // A home folder below has its own rule.
            if temp_dirs.iter().any(|dir| dir == self.rule_for(&real)) {
                self.show_installation(&real);
            }
        }
        for path in host.readable() {
            self.set(path, Access::Read);
        }
    }

    /// Makes the folder of a program readable, and what was installed along with it: for
    /// `PREFIX/bin` that is `PREFIX`.
    pub(crate) fn show_installation(&mut self, folder: &Path) {
        let is_bin = folder
            .file_name()
            .is_some_and(|name| name == "bin" || name == ".bin" || name == "sbin");
        let prefix = folder.parent().filter(|_| is_bin);
        if !prefix.is_some_and(|prefix| self.show(prefix)) {
            self.show(folder);
        }
    }

    /// Makes a path readable if it is only hidden along with everything around it: a rule for this
    /// very path holds, and so does one that hides a secret. Returns whether it can be read now.
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

    /// Returns the path whose rule holds for this one.
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
                .map_err(|error| bad_path(path, format!("cannot be made: {error}")))?;
        }
        for path in profile.write.iter().chain(&profile.state) {
            let real = path
                .canonicalize()
                .map_err(|error| bad_path(path, error.to_string()))?;
            self.rules.insert(real, Access::Write);
        }
        Ok(())
    }

    /// Lets the working directory be written to, unless that would open the whole home folder or
    /// the machine.
    fn allow_working_dir(&mut self, host: &Host) {
        let cwd = self.cwd.clone();
        if host.home().starts_with(&cwd) || !working_dir::is_writable(&cwd) {
            self.rules.insert(cwd, Access::Read);
        } else {
            self.rules.insert(cwd.clone(), Access::Write);
            self.workplace = Some(cwd);
        }
    }

    /// What is readable somewhere hidden is no less writable for it: a project may hold its own
    /// toolchain.
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

    /// A rule for where the path really is; a missing path needs none, as nobody can make it.
    fn set(&mut self, path: impl AsRef<Path>, access: Access) {
        if let Ok(real) = path.as_ref().canonicalize() {
            self.rules.insert(real, access);
        }
    }
}

/// Returns whether this folder is hidden only because there are homes in it.
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

    fn view(profile: Profile, variables: &[(&str, &Path)], cwd: &Path) -> FsPolicy {
        FsPolicy::new(&profile, &Host::new(variables.iter().copied()), cwd).unwrap()
    }

    #[test]
    fn the_deepest_rule_holds() {
        let home = tempfile::tempdir().unwrap();
        for folder in [".cargo/registry", ".ssh", "project"] {
            std::fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        std::fs::write(home.path().join(".cargo/credentials.toml"), "").unwrap();
        let view = view(
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
                view.access(&home.path().canonicalize().unwrap().join(path)),
                access,
                "{path}"
            );
        }
        assert_eq!(view.access(Path::new("/usr/bin")), Access::Read);
    }

    #[test]
    fn a_toolchain_in_the_workplace_stays_writable() {
        let project = tempfile::tempdir().unwrap();
        let toolchain = project.path().join("cargo");
        std::fs::create_dir(&toolchain).unwrap();
        let view = view(
            Profile::test(),
            &[("CARGO_HOME", &toolchain)],
            project.path(),
        );
        assert_eq!(
            view.access(&toolchain.canonicalize().unwrap()),
            Access::Write
        );
    }

    #[test]
    fn p16_the_root_of_the_machine_is_no_workplace() {
        assert!(
            view(Profile::agent(), &[], Path::new("/"))
                .workplace
                .is_none()
        );
    }
}
