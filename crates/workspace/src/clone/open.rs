//! Creates a clone under a temporary name and renames it, so that there is either a complete one or
//! none.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use windlass_tasks::{AttemptRef, BasePart, StartPoint};

use super::clones_dir::clone_name;
use super::copied::copy_files;
use super::meta::{META_DIR, meta_path};
use super::origin::{CloneOrigin, kept_ref};
use super::start::{Start, start_from, start_with_conflict};
use super::{Clones, lfs, names, submodules};
use crate::error::{Error, Result};
use crate::git::{PrivateGitDir, Repository, has_no_tags, small_file, write};
use crate::stack::StackedBase;
use crate::test_runner::detect::{self, DetectedCommands};

/// Where the clone came from, in the directory of Windlass's own files.
pub(super) const ORIGIN_FILE: &str = "origin";

/// A newly created clone.
#[derive(Debug)]
pub(crate) struct OpenClone {
    pub(crate) repository: Repository,
    pub(crate) base: String,
    /// The changes of other tasks in the base. Not known of a clone that a dead process left.
    pub(crate) base_parts: Vec<BasePart>,
    /// The directory that contains the clone and its metadata.
    pub(crate) dir: PathBuf,
    /// The clone itself.
    pub(crate) work: PathBuf,
    pub(crate) git: PrivateGitDir,
    /// Where an attempt's clone came from. `None` for a checkout that keeps no change.
    pub(crate) origin: Option<CloneOrigin>,
    /// Whether the files have the change of an earlier attempt.
    pub(crate) start: StartPoint,
    /// The lock that marks the directory as in use. `None` if the caller holds it.
    _lock: Option<fs::File>,
}

impl OpenClone {
    /// Creates the clone of an attempt with the files of its base and the change that the commit
    /// `earlier` keeps.
    pub(crate) async fn create(
        clones: &Clones,
        repository: Repository,
        (format, stacked): (&str, StackedBase),
        attempt: AttemptRef,
        earlier: Option<&str>,
    ) -> Result<Self> {
        let name = clone_name(attempt);
        let base = stacked.commit.as_str();
        let (temp_dir, lock) = clones.dir.create_temp(&name)?;
        let created = async {
            let new_clone = populate(clones, &repository, format, base, &temp_dir).await?;
            let start = new_clone.start_from(clones, &stacked, earlier).await?;
            let origin = CloneOrigin {
                base: base.to_owned(),
                start_tree: start.tree,
                ref_name: kept_ref(&clones.store, attempt),
                root: repository.root.clone(),
            };
            origin.save(&temp_dir.join(META_DIR).join(ORIGIN_FILE))?;
            let dir = clones.dir.rename_to(&temp_dir, &name)?;
            Ok((dir, origin, start.point))
        };
        let created: Result<_> = created.await;
        let (dir, origin, start) = created.inspect_err(|_| {
            // The original error is the one to report.
            let _ = clones.dir.remove(&temp_dir);
        })?;
        Ok(Self {
            origin: Some(origin),
            start,
            _lock: Some(lock),
            base_parts: stacked.parts,
            ..Self::new(repository, &stacked.commit, dir)
        })
    }

    /// Opens the clone that a dead process left in `dir`, which the caller has locked. Returns
    /// `None` if it is not known where the clone came from.
    pub(crate) fn reopen(dir: PathBuf, lock: fs::File) -> Result<Option<Self>> {
        let Some(origin) = CloneOrigin::load(&dir.join(META_DIR).join(ORIGIN_FILE)) else {
            return Ok(None);
        };
        let repository = Repository::find(&origin.root)?;
        let clone = Self::new(repository, &origin.base, dir);
        Ok(Some(Self {
            origin: Some(origin),
            _lock: Some(lock),
            ..clone
        }))
    }

    pub(super) fn new(repository: Repository, base: &str, dir: PathBuf) -> Self {
        let git = PrivateGitDir::open(&dir.join(META_DIR).join("git"), &dir, &repository);
        Self {
            work: dir.join(work_name(&repository.root)),
            repository,
            base: base.to_owned(),
            base_parts: Vec::new(),
            dir,
            git,
            origin: None,
            start: StartPoint::default(),
            _lock: None,
        }
    }
}

/// The directories of a new clone.
struct NewClone {
    work: PathBuf,
    private_git: PrivateGitDir,
    agent_git: PrivateGitDir,
}

impl NewClone {
    /// Applies the change that the commit `earlier` keeps to the files, or else the conflicts of the
    /// base. The agent's clone has it as an uncommitted change.
    async fn start_from(
        &self,
        clones: &Clones,
        stacked: &StackedBase,
        earlier: Option<&str>,
    ) -> Result<Start> {
        let (git, base) = (&clones.git, stacked.commit.as_str());
        let mut start = match earlier {
            Some(earlier) => start_from(git, &self.private_git, base, earlier).await?,
            None => Start::default(),
        };
        if start.tree.is_none() && stacked.has_conflict {
            start = start_with_conflict(git, &self.private_git, base).await?;
        }
        if let Some(tree) = &start.tree {
            self.private_git
                .command_in(&clones.git, &self.work)
                .run(&["read-tree", "-m", "-u", base, tree])
                .await?;
            self.copy_index()?;
        }
        Ok(start)
    }

    fn copy_index(&self) -> Result<()> {
        let (from, to) = (self.private_git.index(), self.agent_git.index());
        fs::copy(from, &to).map_err(|error| Error::io(&to, &error))?;
        Ok(())
    }
}

/// Creates the content of a new clone directory.
async fn populate(
    clones: &Clones,
    repository: &Repository,
    format: &str,
    base: &str,
    dir: &Path,
) -> Result<NewClone> {
    let (meta, work) = (dir.join(META_DIR), dir.join(work_name(&repository.root)));
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
    let tags = tags(clones, repository).await?;
    agent_git.init_for_agent(base, &tags)?;
    write(&meta.join("tags"), &tags)?;
    // Without any filter: none is configured.
    private_git
        .command_in(&clones.git, &work)
        .run(&["read-tree", "--reset", "-u", base])
        .await
        .map_err(|error| explain_partial_clone(repository, error))?;
    fs::copy(private_git.index(), agent_git.index())
        .map_err(|error| Error::io(agent_git.index(), &error))?;
    names::check(clones, repository, &private_git, &meta).await?;
    submodules::populate(clones, repository, &private_git, &work, &meta).await?;
    lfs::populate(clones, repository, [&private_git, &agent_git], &work).await?;
    copy_files(
        repository,
        &clones.copied,
        &work,
        &[&private_git, &agent_git],
    )?;
    write_shared(&meta, &private_git)?;
    if let Some(detected) = detect::commands(&work) {
        let text = serde_json::to_string(&detected).unwrap_or_default();
        write(&meta.join("tests"), &text)?;
    }
    let new_clone = NewClone {
        work,
        private_git,
        agent_git,
    };
    new_clone.copy_index()?;
    Ok(new_clone)
}

/// Explains a failed checkout of a repository that does not have all objects.
fn explain_partial_clone(repository: &Repository, error: Error) -> Error {
    let config = small_file(&repository.common.join("config")).unwrap_or_default();
    if !config.contains("promisor") || matches!(error, Error::DiskFull { .. }) {
        return error;
    }
    let problem = "is a partial clone without all files of the commit: run `git sparse-checkout \
                   disable`, or `git fetch --refetch --no-filter`";
    Error::repository(&repository.root, problem)
}

/// Returns the directory name of the clone: the name of the project, because some tools take it as
/// the project name.
pub(crate) fn work_name(root: &Path) -> String {
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

/// Where agents keep sessions and logs in the directory that they work in: never part of a change, because they contain
/// whole conversations.
const AGENT_RECORDS: &str = "\n/.fast-agent/sessions/\n/.aider.chat.history.md\n/.aider.input.history\n/.aider.tags.cache*/\n";

/// Returns the patterns that the project's checkout excludes, the records of agents, and the output of its build tool.
fn exclude_patterns(repository: &Repository) -> Option<String> {
    let mut patterns = repository.exclude().unwrap_or_default();
    patterns.push_str(AGENT_RECORDS);
    if repository.root.join("Cargo.toml").is_file() {
        patterns.push_str("\n/target/\n");
    }
    Some(patterns)
}

/// Returns the tags as lines of a packed-refs file: versions are often derived from tags.
pub(crate) async fn tags(clones: &Clones, repository: &Repository) -> Result<String> {
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

/// Records the directories from which a git directory borrows objects.
pub(super) fn write_shared(meta: &Path, git: &PrivateGitDir) -> Result<()> {
    let paths = git.borrowed_object_dirs().iter();
    let lines: String = paths.map(|path| format!("{}\n", path.display())).collect();
    write(&meta.join("shared"), &lines)
}

/// Returns the directories from which the clone at `root` borrows objects, as recorded at its creation.
pub(crate) fn shared_object_dirs(root: &Path) -> Vec<PathBuf> {
    let list = meta_path(root, "shared").and_then(|file| small_file(&file));
    list.unwrap_or_default()
        .lines()
        .map(PathBuf::from)
        .collect()
}

/// Returns how the project was tested before any attempt changed the clone at `root`.
pub(crate) fn detected_tests(root: &Path) -> Option<DetectedCommands> {
    serde_json::from_str(&small_file(&meta_path(root, "tests")?)?).ok()
}

/// Returns the directory for what the tests of the clone at `root` download; `None` if `root` is
/// not a clone.
pub(crate) fn cache_dir(root: &Path) -> Option<PathBuf> {
    meta_path(root, "cache")
}
