//! A temporary home and repository, in which a configuration is loaded without the process environment.

#![expect(
    clippy::unwrap_used,
    reason = "the test fails if the harness cannot be created"
)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::Expect;
use windlass::config::trust::{self, TrustStore};
use windlass::config::{Config, Flag, Inputs, Key, SourceFile};

/// `home`, with a git repository `home/repo`, whose subdirectory `sub` is the working directory.
pub(super) struct Harness {
    _temporary: tempfile::TempDir,
    pub(super) base: PathBuf,
    pub(super) inputs: Inputs,
}

impl Harness {
    pub(super) fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let base = temporary.path().canonicalize().unwrap();
        for dir in ["home/.config/windlass", "home/repo/.git", "home/repo/sub"] {
            fs::create_dir_all(base.join(dir)).unwrap();
        }
        Self {
            inputs: Inputs::new(base.join("home/repo/sub"), Some(base.join("home"))),
            _temporary: temporary,
            base,
        }
    }

    /// Creates a harness whose project has this `windlass.toml`.
    pub(super) fn with_project(text: &str) -> Self {
        Self::new().project(text)
    }

    pub(super) fn user(self, text: &str) -> Self {
        self.file("home/.config/windlass/windlass.toml", text)
    }

    pub(super) fn project(self, text: &str) -> Self {
        self.file("home/repo/windlass.toml", text)
    }

    pub(super) fn dot_env(self, text: &str) -> Self {
        self.file("home/repo/.env", text)
    }

    pub(super) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(super) fn variable(mut self, name: &str, value: &str) -> Self {
        self.inputs = self.inputs.with_variable(name, value);
        self
    }

    pub(super) fn flag(mut self, name: &'static str, key: &str, value: &str) -> Self {
        let key = Key::dotted(key);
        let value = value.to_owned();
        self.inputs.flags.push(Flag { name, key, value });
        self
    }

    /// Trusts the current content of the project's files.
    pub(super) fn trusted(self) -> Self {
        let mut store = self.store();
        for source in trust::candidates(&self.inputs).unwrap() {
            store.trust(&source).unwrap();
        }
        self
    }

    pub(super) fn store(&self) -> TrustStore {
        TrustStore::load(&self.state()).unwrap()
    }

    pub(super) fn state(&self) -> PathBuf {
        self.inputs.state_dir().unwrap()
    }

    pub(super) fn source(&self, path: &str) -> SourceFile {
        SourceFile::read(&self.base.join(path)).unwrap()
    }

    pub(super) fn load(&self) -> Config {
        Config::load(&self.inputs).unwrap()
    }

    /// Checks the settings, except defaults, and the notices, or the error.
    #[track_caller]
    pub(super) fn check(&self, expect: Expect) {
        expect.assert_eq(&self.seen());
    }

    pub(super) fn seen(&self) -> String {
        let mut text = String::new();
        match Config::load(&self.inputs) {
            Ok(config) => {
                for entry in config.entries() {
                    let origin = entry.origin.to_string();
                    if origin != "default" {
                        writeln!(text, "{} = {}  # {origin}", entry.key, entry.value).unwrap();
                    }
                }
                for notice in config.notices() {
                    writeln!(text, "notice: {notice}").unwrap();
                }
            }
            Err(error) => writeln!(text, "error: {error}").unwrap(),
        }
        text.replace(self.base.to_str().unwrap(), "")
    }

    pub(super) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join(path)
    }
}
