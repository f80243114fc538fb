//! The rules that do not depend on the profile's own paths: what a process sees of the system, of
//! the home directory, and of toolchains elsewhere.

use std::path::{Path, PathBuf};

use windlass_core::DirAccess;

use crate::fs_policy::{Access, FsPolicy, ROOT};
use crate::home_paths::{HOME_PATHS, HOME_SECRETS};
use crate::host::Host;
use crate::repository::RepositoryPaths;
use crate::{links, path_lists};

impl FsPolicy {
    /// Shows the directories of the system, and hides everything else outside the home directory.
    pub(crate) fn show_system(&mut self, host: &Host) {
        let entries = Path::new(ROOT).read_dir().into_iter().flatten().flatten();
        for entry in entries {
            let path = entry.path();
            let is_system = path_lists::SYSTEM_DIRS
                .iter()
                .any(|name| entry.file_name() == *name);
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                // The target has its own rule.
                self.keep_links(&path);
            } else if is_system {
                self.rules.insert(path, Access::Read);
            } else {
                self.root_names.push(path);
            }
        }
        for path in path_lists::PARTLY_HIDDEN_DIRS {
            self.set(path, Access::Hidden);
        }
        for path in path_lists::SYSTEM_NEEDED {
            self.set(path, Access::Read);
        }
        for path in path_lists::TEMP_DIRS
            .iter()
            .chain([&path_lists::SHARED_MEMORY])
        {
            self.set(path, Access::Private);
        }
        self.set(path_lists::MESSAGE_QUEUES, Access::Hidden);
        for path in path_lists::SYSTEM_SECRETS {
            self.hide_secret(path);
        }
        self.hide_system_sockets();
        // Name resolution reads this file, which is often a link into `/run`.
        self.set("/etc/resolv.conf", Access::Read);
        if let Some(dir) = host.variable("XDG_RUNTIME_DIR") {
            self.hide_secret(dir);
        }
    }

    /// Shows the programs of the system, and nothing else of it.
    pub(crate) fn show_system_programs(&mut self) {
        for path in path_lists::SYSTEM_PROGRAMS {
            self.set(path, Access::Read);
        }
        for path in path_lists::TEMP_DIRS {
            self.set(path, Access::Private);
        }
        self.hide_system_sockets();
    }

    fn hide_system_sockets(&mut self) {
        for path in path_lists::SYSTEM_SOCKETS {
            self.hide_secret(path);
        }
    }

    /// Replaces the home directory by a private one, and marks the secrets in it.
    pub(crate) fn hide_home(&mut self, host: &Host) {
        self.set(host.home(), Access::Private);
        for path in HOME_SECRETS {
            self.hide_secret(host.home().join(path));
        }
    }

    /// Shows the listed paths of the home directory.
    pub(crate) fn show_home_paths(&mut self, host: &Host) {
        let kind = self.kind;
        let rows = HOME_PATHS.iter().filter(|row| row.kinds.contains(&kind));
        for path in rows.flat_map(|row| row.paths) {
            self.show(&host.home().join(path));
        }
    }

    /// Shows the repository around the working directory, and the git directories that belong to
    /// it. A private clone is complete.
    pub(crate) fn show_repository(&mut self, host: &Host) {
        if self.access == DirAccess::Repository {
            return;
        }
        let mut outside: Vec<PathBuf> = self.own_paths.clone();
        outside.push(host.home().to_owned());
        outside.extend(path_lists::TEMP_DIRS.iter().map(PathBuf::from));
        self.repository = RepositoryPaths::find(&self.cwd, host.home(), &outside);
        for dir in self.repository.readable.clone() {
            self.show(&dir);
        }
    }

    /// Shows toolchains in unusual directories: those that the user's variables name, and those on
    /// the `PATH`.
    pub(crate) fn show_toolchains(&mut self, host: &Host) {
        for name in path_lists::TOOLCHAIN_VARS {
            if let Some(dir) = host.variable(name).map(PathBuf::from)
                && self.may_follow(host, &dir)
            {
                self.show(&dir);
            }
        }
        for dir in std::env::split_paths(host.path()).filter(|dir| dir.is_absolute()) {
            let Ok(real) = dir.canonicalize() else {
                continue;
            };
            if self.may_follow(host, &dir) {
                self.show_installation(&real);
            }
            if self.is_visible(&real) {
                self.keep_links(&dir);
            }
        }
    }

    /// Returns `true` if a path of the environment may be shown. A link where an agent may have
    /// worked before could lead to any directory.
    fn may_follow(&self, host: &Host, path: &Path) -> bool {
        let temp_dirs = path_lists::TEMP_DIRS.iter().map(Path::new);
        let worked_in: Vec<&Path> = temp_dirs.chain([host.home(), &*self.cwd]).collect();
        !links::follows_link_in(path, |dir| {
            worked_in.iter().any(|above| dir.starts_with(above))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::profile::Profile;

    struct HomeFixture {
        dir: tempfile::TempDir,
    }

    impl HomeFixture {
        fn new(names: &[&str]) -> Self {
            let fixture = Self {
                dir: tempfile::tempdir().unwrap(),
            };
            for name in names {
                std::fs::create_dir_all(fixture.path(name)).unwrap();
            }
            fixture
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().canonicalize().unwrap().join(name)
        }

        fn policy(&self, profile: Profile, variables: &[(&str, String)]) -> FsPolicy {
            let mut all = vec![("HOME", self.path("").display().to_string())];
            all.extend_from_slice(variables);
            FsPolicy::new(&profile, &Host::new(all), &self.path("project")).unwrap()
        }
    }

    #[test]
    fn deepest_rule_applies() {
        let home = HomeFixture::new(&[".cargo/registry", ".ssh", "project", ".npm"]);
        std::fs::write(home.path(".cargo/credentials.toml"), "").unwrap();
        for (path, access) in [
            ("", Access::Private),
            ("notes", Access::Private),
            (".cargo/registry/cache", Access::Read),
            (".cargo/credentials.toml", Access::Hidden),
            (".npm", Access::Private),
            (".ssh/id", Access::Hidden),
            ("project/src", Access::Write),
        ] {
            let policy = home.policy(Profile::tool(), &[]);
            assert_eq!(policy.access(&home.path(path)), access, "{path}");
        }
        let agent = home.policy(Profile::agent(), &[]);
        assert_eq!(agent.access(Path::new("/usr/bin")), Access::Read);
        assert_eq!(agent.access(&home.path(".npm")), Access::Read);
        assert_eq!(agent.access(Path::new("/var/log")), Access::Hidden);
    }

    #[test]
    fn toolchain_in_working_dir_stays_writable() {
        let home = HomeFixture::new(&["project/cargo"]);
        let toolchain = home.path("project/cargo");
        let variables = [("CARGO_HOME", toolchain.display().to_string())];
        let policy = home.policy(Profile::test(), &variables);
        assert_eq!(policy.access(&toolchain), Access::Write);
    }

    #[test]
    fn linked_path_stays_reachable_under_both_names() {
        let home = HomeFixture::new(&["project", "dotfiles/git"]);
        std::fs::create_dir(home.path(".config")).unwrap();
        symlink(home.path("dotfiles/git"), home.path(".config/git")).unwrap();
        let policy = home.policy(Profile::agent(), &[]);
        assert_eq!(policy.access(&home.path("dotfiles/git")), Access::Read);
        assert_eq!(policy.access(&home.path("dotfiles")), Access::Private);
        assert_eq!(
            policy.links.get(&home.path(".config/git")),
            Some(&home.path("dotfiles/git"))
        );
    }

    /// The agent of an earlier run may have replaced the directory.
    #[test]
    fn p16_link_on_the_path_does_not_expose_its_target() {
        let home = HomeFixture::new(&["project", "other/lib", "other/bin", ".ssh"]);
        symlink(home.path("other/bin"), home.path("project/bin")).unwrap();
        symlink(home.path(".ssh"), home.path("cargo")).unwrap();
        let variables = [
            ("PATH", home.path("project/bin").display().to_string()),
            ("CARGO_HOME", home.path("cargo").display().to_string()),
        ];
        let policy = home.policy(Profile::agent(), &variables);
        assert_eq!(policy.access(&home.path("other/bin")), Access::Private);
        assert_eq!(policy.access(&home.path(".ssh")), Access::Hidden);
    }

    #[test]
    fn program_directory_on_the_path_does_not_expose_projects() {
        let home = HomeFixture::new(&["project", "work/bin", "sdk/bin", "sdk/lib", "tree/bin"]);
        std::fs::create_dir_all(home.path("tree/.git")).unwrap();
        std::fs::create_dir_all(home.path("tree/lib")).unwrap();
        let dirs = ["work/bin", "sdk/bin", "tree/bin"].map(|name| home.path(name));
        let path = std::env::join_paths(dirs).unwrap().into_string().unwrap();
        let policy = home.policy(Profile::agent(), &[("PATH", path)]);
        for (name, access) in [
            ("work/bin", Access::Read),
            ("work", Access::Private),
            ("sdk/lib", Access::Read),
            ("tree/bin", Access::Read),
            ("tree", Access::Private),
        ] {
            assert_eq!(policy.access(&home.path(name)), access, "{name}");
        }
    }

    #[test]
    fn p16_own_directories_stay_hidden_whatever_is_readable() {
        let home = HomeFixture::new(&["project", ".local/state/windlass", ".config/windlass"]);
        for readable in [".local", ".local/state/windlass", ""] {
            let profile = Profile::agent().read(home.path(readable));
            let policy = home.policy(profile, &[]);
            let token = home.path(".local/state/windlass/server-token");
            assert_eq!(policy.access(&token), Access::Hidden, "{readable}");
        }
        let key = home.path("project/key.pem");
        std::fs::write(&key, "").unwrap();
        let host = Host::new([("HOME", home.path(""))]).with_hidden([&key]);
        for profile in [Profile::agent(), Profile::tool().programs_only()] {
            let policy = FsPolicy::new(&profile, &host, &home.path("project")).unwrap();
            assert_eq!(policy.access(&key), Access::Hidden);
        }
        let own = home.path(".config/windlass");
        let host = Host::new([("HOME", home.path(""))]);
        let refused = FsPolicy::new(&Profile::agent(), &host, &own).unwrap_err();
        assert!(refused.to_string().contains("belongs to Windlass"));
    }

    #[test]
    fn p16_read_only_directory_has_no_writable_part() {
        let home = HomeFixture::new(&["project/state", ".windlass", "project/.windlass"]);
        let profile = Profile::agent()
            .state(home.path("project/state"))
            .write(home.path("project"))
            .access(DirAccess::ReadOnly);
        let policy = home.policy(profile, &[]);
        for path in ["project", "project/state", "project/src"] {
            assert_eq!(policy.access(&home.path(path)), Access::Read, "{path}");
        }
        let store = home.path("project/.windlass/windlass.db");
        assert_eq!(policy.access(&store), Access::Hidden);
        assert_eq!(policy.protected_dir, None);
    }

    #[test]
    fn p16_filesystem_root_is_not_a_writable_working_dir() {
        let host = Host::new([("HOME", "/nonexistent")]);
        let policy = FsPolicy::new(&Profile::agent(), &host, Path::new("/")).unwrap();
        assert!(policy.protected_dir.is_none());
    }
}
