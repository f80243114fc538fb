//! Creates a clone under a temporary name and renames it, so that there is either a complete one or
//! none.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::Clones;
use crate::error::{Error, Result};
use crate::git::{PrivateGitDir, Repository, has_no_tags, small_file, write};
use crate::test_runner::detect;

/// Directory for Windlass's own files, next to the clone.
const META_DIR: &str = ".meta";

/// A newly created clone.
#[derive(Debug)]
pub(crate) struct OpenClone {
    pub(crate) repository: Repository,
    pub(crate) base: String,
    /// The directory that contains the clone and its metadata.
    pub(crate) dir: PathBuf,
    /// The clone itself.
    pub(crate) work: PathBuf,
    pub(crate) git: PrivateGitDir,
    /// The lock that marks the directory as in use. `None` if the caller holds it.
    _lock: Option<fs::File>,
}

impl OpenClone {
    /// Creates a clone with the files of the commit `base`.
    pub(crate) async fn create(
        clones: &Clones,
        repository: Repository,
        format: &str,
        base: &str,
        name: String,
    ) -> Result<Self> {
        let (temp_dir, lock) = clones.dir.create_temp(&name)?;
        let created = populate(clones, &repository, format, base, &temp_dir).await;
        let renamed = created.and_then(|work| Ok((work, clones.dir.rename_to(&temp_dir, &name)?)));
        let (work, dir) = renamed.inspect_err(|_| {
            // The original error is the one to report.
            let _ = clones.dir.remove(&temp_dir);
        })?;
        Ok(Self {
            _lock: Some(lock),
            ..Self::new(repository, base, dir, &work)
        })
    }

    /// Like [`create`](Self::create), in an existing directory that the caller owns.
    pub(crate) async fn create_in(
        clones: &Clones,
        repository: Repository,
        format: &str,
        base: &str,
        dir: &Path,
    ) -> Result<Self> {
        let work = populate(clones, &repository, format, base, dir).await?;
        Ok(Self::new(repository, base, dir.to_owned(), &work))
    }

    fn new(repository: Repository, base: &str, dir: PathBuf, work: &str) -> Self {
        let git = PrivateGitDir::open(&dir.join(META_DIR).join("git"), &dir, &repository);
        Self {
            work: dir.join(work),
            repository,
            base: base.to_owned(),
            dir,
            git,
            _lock: None,
        }
    }
}

/// Creates the content of a new clone directory, and returns the name of the clone in it.
async fn populate(
    clones: &Clones,
    repository: &Repository,
    format: &str,
    base: &str,
    dir: &Path,
) -> Result<String> {
    let name = work_name(&repository.root);
    let (meta, work) = (dir.join(META_DIR), dir.join(&name));
    for path in [&meta, &work] {
        create_dir(path)?;
    }
    let private_git = PrivateGitDir::create(&meta.join("git"), dir, repository, format)?;
    let agent_git = PrivateGitDir::create(&work.join(".git"), dir, repository, format)?;
    for (git, more) in [
        (&private_git, exclude_patterns(repository)),
        (&agent_git, repository.exclude()),
    ] {
        git.exclude(&more.unwrap_or_default())?;
    }
    agent_git.init_for_agent(base, &tags(clones, repository).await?)?;
    // Without any filter: none is configured.
    private_git
        .command_in(&clones.git, &work)
        .run(&["read-tree", "--reset", "-u", base])
        .await?;
    fs::copy(private_git.index(), agent_git.index())
        .map_err(|error| Error::io(agent_git.index(), &error))?;
    write(
        &meta.join("shared"),
        &lines(private_git.borrowed_object_dirs()),
    )?;
    if let Some(command) = detect::command(&work) {
        write(&meta.join("tests"), &command.join("\n"))?;
    }
    Ok(name)
}

/// Returns the directory name of the clone: the name of the project, because some tools take it as
/// the project name.
fn work_name(root: &Path) -> String {
    let name = root
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(plain) {
        return "work".into();
    }
    name.into()
}

/// Returns the patterns that the project's checkout excludes, and the output of its build tool.
fn exclude_patterns(repository: &Repository) -> Option<String> {
    let mut patterns = repository.exclude().unwrap_or_default();
    if repository.root.join("Cargo.toml").is_file() {
        patterns.push_str("\n/target/\n");
    }
    Some(patterns)
}

/// Returns the tags as lines of a packed-refs file: versions are often derived from tags.
async fn tags(clones: &Clones, repository: &Repository) -> Result<String> {
    if has_no_tags(&repository.common) {
        return Ok(String::new());
    }
    let format = "--format=%(objectname) %(refname)";
    let output = repository
        .query(&clones.git, &["for-each-ref", format, "refs/tags/"])
        .await?
        .check()?;
    // A clone without tags is better than no clone.
    Ok(if output.stdout.is_truncated() {
        String::new()
    } else {
        output.stdout.text()
    })
}

fn create_dir(path: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(|error| Error::io(path, &error))
}

fn lines(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| format!("{}\n", path.display()))
        .collect()
}

/// Returns the directories whose objects the clone at `root` borrows, as recorded at its creation.
pub(crate) fn shared_object_dirs(root: &Path) -> Vec<PathBuf> {
    let list = meta_path(root, "shared").and_then(|file| small_file(&file));
    list.unwrap_or_default()
        .lines()
        .map(PathBuf::from)
        .collect()
}

/// Returns the command that tested the project before any attempt changed the clone at `root`.
pub(crate) fn test_command(root: &Path) -> Option<Vec<String>> {
    let text = small_file(&meta_path(root, "tests")?)?;
    Some(text.lines().map(str::to_owned).collect())
}

/// Returns the directory for what the tests of the clone at `root` download; `None` if `root` is
/// not a clone.
pub(crate) fn cache_dir(root: &Path) -> Option<PathBuf> {
    meta_path(root, "cache")
}

fn meta_path(root: &Path, name: &str) -> Option<PathBuf> {
    let meta = root.parent()?.join(META_DIR);
    meta.is_dir().then(|| meta.join(name))
}
