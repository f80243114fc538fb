//! The key of a set-up: a hash of everything that its result depends on.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use windlass_sandbox::Host;

use super::Source;
use super::digest::hexadecimal;
use crate::error::{Error, Result};

/// Changes when results of an earlier version can no longer be used.
const FORMAT: &str = "windlass set-up 1";

/// Maximum number of directory entries that are examined.
const MAX_ENTRIES: usize = 500_000;

/// Names of manifests, lock files, and files that select the version of a tool.
const INPUT_NAMES: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain",
    "rust-toolchain.toml",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    ".npmrc",
    ".nvmrc",
    ".node-version",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    ".pnpmfile.cjs",
    "yarn.lock",
    ".yarnrc",
    ".yarnrc.yml",
    "bun.lock",
    "bun.lockb",
    "bunfig.toml",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "noxfile.py",
    "uv.lock",
    "uv.toml",
    "poetry.lock",
    "poetry.toml",
    "pdm.lock",
    "Pipfile",
    "Pipfile.lock",
    "MANIFEST.in",
    ".python-version",
    ".tool-versions",
    "go.mod",
    "go.sum",
    "go.work",
    "go.work.sum",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "gradle.lockfile",
    "libs.versions.toml",
    "gradle-wrapper.properties",
    "maven-wrapper.properties",
    "Gemfile",
    "Gemfile.lock",
    ".ruby-version",
];

/// Programs that run in another program: both are part of the key.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("node", &["npm", "npx", "pnpm", "yarn", "corepack"]),
    ("python3", &["pip", "pip3", "uv", "poetry", "tox", "nox"]),
    ("rustc", &["cargo"]),
    ("java", &["mvn", "gradle", "./mvnw", "./gradlew"]),
    ("ruby", &["bundle", "gem"]),
];

/// Returns the key of a set-up in the checkout at `root`.
pub(super) fn of_inputs(root: &Path, setup: &[String], host: &Host) -> Result<String> {
    let mut hash = Sha256::new();
    add(&mut hash, "format", FORMAT.as_bytes());
    add(&mut hash, "os", std::env::consts::OS.as_bytes());
    add(&mut hash, "arch", std::env::consts::ARCH.as_bytes());
    for arg in setup {
        add(&mut hash, "argument", arg.as_bytes());
    }
    for program in programs(setup, host) {
        add(&mut hash, "program", identity(&program).as_bytes());
    }
    for path in input_files(root, setup) {
        let name = path.strip_prefix(root).unwrap_or(&path);
        add(&mut hash, "file", name.as_os_str().as_bytes());
        let content = fs::read(&path).map_err(|error| Error::io(&path, &error))?;
        add(&mut hash, "content", &content);
    }
    Ok(hexadecimal(&hash.finalize()))
}

/// Returns the key of a result that belongs to one commit.
pub(super) fn with_source(key: &str, source: Source<'_>) -> String {
    let (kind, id) = match source {
        Source::Base(id) => ("base", id),
        Source::Change(id) => ("change", id),
    };
    let mut hash = Sha256::new();
    add(&mut hash, "key", key.as_bytes());
    add(&mut hash, kind, id.as_bytes());
    hexadecimal(&hash.finalize())
}

/// Adds a value with its length, so that no two sequences of values look the same.
fn add(hash: &mut Sha256, name: &str, value: &[u8]) {
    hash.update(name.as_bytes());
    hash.update((value.len() as u64).to_le_bytes());
    hash.update(value);
}

/// Returns the words of a command, also those of a script for a shell.
fn words(setup: &[String]) -> impl Iterator<Item = &str> {
    setup
        .iter()
        .flat_map(|arg| arg.split(|c: char| c.is_whitespace() || "&|;()'\"".contains(c)))
        .filter(|word| !word.is_empty())
}

/// Returns the programs that the command names, and their interpreters.
fn programs(setup: &[String], host: &Host) -> BTreeSet<PathBuf> {
    let named: Vec<&str> = words(setup).collect();
    let interpreters = INTERPRETERS.iter().filter_map(|(interpreter, programs)| {
        let is_needed = named.iter().any(|word| programs.contains(word));
        is_needed.then_some(*interpreter)
    });
    let mut found = BTreeSet::new();
    for name in named.iter().copied().chain(interpreters) {
        if name.contains('/') {
            continue;
        }
        let dirs = host.variable("PATH").map(std::env::split_paths);
        let mut files = dirs.into_iter().flatten().map(|dir| dir.join(name));
        found.extend(files.find(|file| file.is_file()));
    }
    found
}

/// Returns what changes when a program is replaced by another version.
fn identity(program: &Path) -> String {
    let real = program
        .canonicalize()
        .unwrap_or_else(|_| program.to_owned());
    let found = real.metadata();
    let found = found.map(|found| (found.len(), found.mtime(), found.mtime_nsec()));
    format!("{}\0{found:?}", real.display())
}

/// Returns the files that the set-up depends on, sorted.
fn input_files(root: &Path, setup: &[String]) -> BTreeSet<PathBuf> {
    let mut files: BTreeSet<PathBuf> = words(setup)
        .map(|word| root.join(word))
        .filter(|path| path.starts_with(root) && is_file(path))
        .collect();
    let uses = |program: &str| words(setup).any(|word| word == program);
    let mut left = MAX_ENTRIES;
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else {
                return files;
            };
            left = rest;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && name != ".git" => dirs.push(entry.path()),
                Ok(kind) if kind.is_file() && is_input(&name, &uses) => {
                    files.insert(entry.path());
                }
                _ => {}
            }
        }
    }
    files
}

fn is_input(name: &str, uses: &impl Fn(&str) -> bool) -> bool {
    let is_requirements = |name: &str| {
        (name.contains("requirements") || name.contains("constraints"))
            && [".txt", ".in"].iter().any(|end| name.ends_with(end))
    };
    INPUT_NAMES.contains(&name)
        || is_requirements(name)
        || name.ends_with(".gemspec")
        || uses("make") && matches!(name, "Makefile" | "GNUmakefile" | "makefile")
        || uses("just") && matches!(name, "justfile" | "Justfile" | ".justfile")
}

/// Returns `true` for a regular file; a link may lead out of the checkout.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}
