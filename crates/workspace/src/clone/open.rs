//! Making a place: all of it under another name, then renamed, so that there is a whole one or none.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::Clones;
use crate::error::{Error, Result};
use crate::git::{PrivateGitDir, Repository, has_no_tags, small_file, write};
use crate::test_runner::detect;

/// What in a place is ours, beside the clone.
const META_DIR: &str = ".place";

/// A place that was just made.
#[derive(Debug)]
pub(crate) struct OpenClone {
    pub(crate) repository: Repository,
    pub(crate) base: String,
    /// The whole place.
    pub(crate) folder: PathBuf,
    /// The clone in it.
    pub(crate) work: PathBuf,
    pub(crate) git: PrivateGitDir,
    /// Says that we work in it, where nobody else does.
    _held: Option<fs::File>,
}

impl OpenClone {
    /// Makes a place with the files of the commit `base`.
    pub(crate) async fn create(
        clones: &Clones,
        repository: Repository,
        format: &str,
        base: &str,
        name: String,
    ) -> Result<Self> {
        let (begun, held) = clones.folder.create_temp(&name)?;
        let made = populate(clones, &repository, format, base, &begun).await;
        let settled = made.and_then(|work| Ok((work, clones.folder.rename_to(&begun, &name)?)));
        let (work, folder) = settled.inspect_err(|_| {
            // The reason for failing is the one to be told.
            let _ = clones.folder.remove(&begun);
        })?;
        Ok(Self {
            _held: Some(held),
            ..Self::new(repository, base, folder, &work)
        })
    }

    /// The same, in a folder that stays somebody else's.
    pub(crate) async fn create_in(
        clones: &Clones,
        repository: Repository,
        format: &str,
        base: &str,
        room: &Path,
    ) -> Result<Self> {
        let work = populate(clones, &repository, format, base, room).await?;
        Ok(Self::new(repository, base, room.to_owned(), &work))
    }

    fn new(repository: Repository, base: &str, folder: PathBuf, work: &str) -> Self {
        let git = PrivateGitDir::open(&folder.join(META_DIR).join("git"), &folder, &repository);
        Self {
            work: folder.join(work),
            repository,
            base: base.to_owned(),
            folder,
            git,
            _held: None,
        }
    }
}

/// Puts everything into a new place, and gives the clone's name.
async fn populate(
    clones: &Clones,
    repository: &Repository,
    format: &str,
    base: &str,
    place: &Path,
) -> Result<String> {
    let name = work_name(&repository.root);
    let (ours, work) = (place.join(META_DIR), place.join(&name));
    for folder in [&ours, &work] {
        make(folder)?;
    }
    let own = PrivateGitDir::create(&ours.join("git"), place, repository, format)?;
    let theirs = PrivateGitDir::create(&work.join(".git"), place, repository, format)?;
    for (git, more) in [
        (&own, exclude_patterns(repository)),
        (&theirs, repository.exclude()),
    ] {
        git.exclude(&more.unwrap_or_default())?;
    }
    theirs.init_for_agent(base, &tags(clones, repository).await?)?;
    // The files, without any filter: nothing is configured that could be one.
    own.command_in(&clones.git, &work)
        .run(&["read-tree", "--reset", "-u", base])
        .await?;
    fs::copy(own.index(), theirs.index()).map_err(|error| Error::io(theirs.index(), &error))?;
    write(&ours.join("shared"), &lines(own.borrowed_object_dirs()))?;
    if let Some(command) = detect::command(&work) {
        write(&ours.join("tests"), &command.join("\n"))?;
    }
    Ok(name)
}

/// The clone is called as the project is: some tools take a folder's name for a project's.
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

/// What the project's checkout leaves out, and what its build tool makes.
fn exclude_patterns(repository: &Repository) -> Option<String> {
    let mut patterns = repository.exclude().unwrap_or_default();
    if repository.root.join("Cargo.toml").is_file() {
        patterns.push_str("\n/target/\n");
    }
    Some(patterns)
}

/// The tags, as the lines of a file of packed refs: versions are often told from them.
async fn tags(clones: &Clones, repository: &Repository) -> Result<String> {
    if has_no_tags(repository) {
        return Ok(String::new());
    }
    let format = "--format=%(objectname) %(refname)";
    let said = repository
        .query(&clones.git, &["for-each-ref", format, "refs/tags/"])
        .await?
        .check()?;
    // Without some of them is better than without a place.
    Ok(if said.stdout.is_truncated() {
        String::new()
    } else {
        said.stdout.text()
    })
}

fn make(folder: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .mode(0o700)
        .create(folder)
        .map_err(|error| Error::io(folder, &error))
}

fn lines(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| format!("{}\n", path.display()))
        .collect()
}

/// The folders whose objects the clone at `root` borrows, as we wrote them down.
pub(crate) fn shared_object_dirs(root: &Path) -> Vec<PathBuf> {
    let list = meta_path(root, "shared").and_then(|file| small_file(&file));
    list.unwrap_or_default()
        .lines()
        .map(PathBuf::from)
        .collect()
}

/// The command that tested the project before anybody worked in the clone at `root`.
pub(crate) fn test_command(root: &Path) -> Option<Vec<String>> {
    let text = small_file(&meta_path(root, "tests")?)?;
    Some(text.lines().map(str::to_owned).collect())
}

/// A folder of ours for what the tests of the clone at `root` fetch; none where it is not a place.
pub(crate) fn cache_dir(root: &Path) -> Option<PathBuf> {
    meta_path(root, "cache")
}

fn meta_path(root: &Path, name: &str) -> Option<PathBuf> {
    let ours = root.parent()?.join(META_DIR);
    ours.is_dir().then(|| ours.join(name))
}
