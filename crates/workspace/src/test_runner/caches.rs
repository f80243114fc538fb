//! Directories in which tools store what they build and download.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::TestRunner;
use crate::clone::{cache_dir, prepared};
use crate::error::{Error, Result};
use crate::git::small_file;

/// How a later checkout gets the content of a cache that a set-up filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheSharing {
    /// Not at all: the set-up has installed from it what is needed.
    Dropped,
    /// It is read in the store.
    Read,
    /// It is copied, because the tool writes to it.
    Copied,
}

/// One cache of a tool.
#[derive(Debug)]
pub(crate) struct Cache {
    /// The name of the directory.
    pub(crate) name: &'static str,
    /// The variable that names the directory.
    pub(crate) variable: &'static str,
    /// What precedes the path in the variable.
    prefix: &'static str,
    /// The programs that fill it during a set-up; without any, every set-up may.
    programs: &'static [&'static str],
    /// Whether it is also used without a set-up: the user's own cache is not readable or is written to.
    always: bool,
    pub(crate) sharing: CacheSharing,
}

const fn cache(
    name: &'static str,
    variable: &'static str,
    programs: &'static [&'static str],
    sharing: CacheSharing,
) -> Cache {
    Cache {
        name,
        variable,
        prefix: "",
        programs,
        always: false,
        sharing,
    }
}

/// Every cache. The user's own caches of cargo and go are readable and filled; they are replaced
/// only if the set-up can fill the new one.
pub(crate) const CACHES: &[Cache] = &[
    Cache {
        always: true,
        ..cache("go-build", "GOCACHE", &[], CacheSharing::Copied)
    },
    Cache {
        always: true,
        ..cache("npm", "npm_config_cache", &[], CacheSharing::Dropped)
    },
    cache("pip", "PIP_CACHE_DIR", &[], CacheSharing::Dropped),
    cache("uv", "UV_CACHE_DIR", &[], CacheSharing::Dropped),
    cache("poetry", "POETRY_CACHE_DIR", &[], CacheSharing::Dropped),
    cache("yarn", "YARN_CACHE_FOLDER", &[], CacheSharing::Dropped),
    cache(
        "pnpm",
        "npm_config_store_dir",
        &["pnpm"],
        CacheSharing::Dropped,
    ),
    cache("bun", "BUN_INSTALL_CACHE_DIR", &[], CacheSharing::Dropped),
    cache("go-mod", "GOMODCACHE", &["go"], CacheSharing::Read),
    cache("cargo", "CARGO_HOME", &["cargo"], CacheSharing::Read),
    Cache {
        prefix: "-Dmaven.repo.local=",
        ..cache(
            "maven",
            "MAVEN_OPTS",
            &["mvn", "./mvnw"],
            CacheSharing::Copied,
        )
    },
    cache(
        "gradle",
        "GRADLE_USER_HOME",
        &["gradle", "./gradlew"],
        CacheSharing::Copied,
    ),
];

/// The caches of one checkout. They belong to it alone, so that no attempt can leave files for
/// another.
#[derive(Debug)]
pub(crate) struct BuildCaches {
    pub(crate) dir: PathBuf,
    pub(super) variables: BTreeMap<String, String>,
    _temporary: Option<TempDir>,
}

impl BuildCaches {
    pub(crate) fn new(tests: &TestRunner, root: &Path) -> Result<Self> {
        let (dir, temporary) = match cache_dir(root) {
            Some(dir) => (dir, None),
            None => {
                let temp = TempDir::with_prefix("windlass-tests-");
                let temp = temp.map_err(|error| Error::io(std::env::temp_dir(), &error))?;
                (temp.path().to_owned(), Some(temp))
            }
        };
        let setup = tests.settings.setup.as_deref().unwrap_or_default();
        let mut variables = BTreeMap::new();
        for cache in CACHES.iter().filter(|cache| cache.is_used(setup)) {
            let path = dir.join(cache.name);
            fs::create_dir_all(&path).map_err(|error| Error::io(&path, &error))?;
            if cache.variable == "CARGO_HOME" {
                copy_cargo_settings(tests, &path)?;
            }
            variables.insert(cache.variable.to_owned(), cache.value(&path));
        }
        variables.extend(prepared(root).unwrap_or_default().variables);
        Ok(Self {
            dir,
            variables,
            _temporary: temporary,
        })
    }
}

impl Cache {
    /// Returns the value of its variable for the directory at `path`.
    pub(crate) fn value(&self, path: &Path) -> String {
        format!("{}{}", self.prefix, path.display())
    }

    fn is_used(&self, setup: &[String]) -> bool {
        let mut words = setup.iter().flat_map(|arg| arg.split_whitespace());
        let fills = self.programs.is_empty() || words.any(|word| self.programs.contains(&word));
        self.always || !setup.is_empty() && fills
    }
}

/// Copies cargo's settings of the user, which name the registry.
fn copy_cargo_settings(tests: &TestRunner, home: &Path) -> Result<()> {
    let host = tests.sandbox.host();
    let user_home = host
        .variable("CARGO_HOME")
        .map_or_else(|| host.home().join(".cargo"), PathBuf::from);
    if let Some(text) = small_file(&user_home.join("config.toml")) {
        let target = home.join("config.toml");
        fs::write(&target, text).map_err(|error| Error::io(&target, &error))?;
    }
    Ok(())
}
