//! A fresh checkout: exactly the files of one commit, in a directory that no agent can reach.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::copied::copy_files;
use super::meta::{META_DIR, meta_path};
use super::open::{ORIGIN_FILE, tags, work_name, write_shared};
use super::prepared::private_git;
use super::{CloneOrigin, Clones, LockedDir, ScratchRepo, lfs, submodules};
use crate::error::{Error, Result};
use crate::git::{PrivateGitDir, Repository, small_file};

/// The git directory that has the objects of a checkout.
#[derive(Debug)]
pub(crate) struct CheckoutSource {
    pub(crate) git: PrivateGitDir,
    tags: String,
    /// The user's repository, for files that are copied from its checkout.
    repository: Repository,
    _scratch: Option<ScratchRepo>,
}

impl CheckoutSource {
    /// The clone of an attempt, with the commits that Windlass made of its files.
    pub(crate) fn attempt(root: &Path) -> Result<Self> {
        let origin = meta_path(root, ORIGIN_FILE).and_then(|file| CloneOrigin::load(&file));
        let (Some(git), Some(origin)) = (private_git(root), origin) else {
            return Err(Error::Path {
                path: root.to_owned(),
                problem: "is not a clone of an attempt".into(),
            });
        };
        let tags = meta_path(root, "tags").and_then(|file| small_file(&file));
        Ok(Self {
            git,
            tags: tags.unwrap_or_default(),
            repository: Repository::find(&origin.root)?,
            _scratch: None,
        })
    }

    /// The user's repository.
    pub(crate) async fn repository(
        clones: &Clones,
        repository: Repository,
        format: &str,
    ) -> Result<Self> {
        let scratch = ScratchRepo::new(clones, &repository, format)?;
        Ok(Self {
            git: scratch.git.clone(),
            tags: tags(clones, &repository).await?,
            repository,
            _scratch: Some(scratch),
        })
    }
}

/// A fresh checkout. It is removed when dropped, and removed as stale if the process was killed.
#[derive(Debug)]
pub(crate) struct Checkout {
    /// The directory with the files.
    pub(crate) work: PathBuf,
    _dir: LockedDir,
}

impl Checkout {
    /// Creates a checkout with the `HEAD` `commit` and the files of `tree`.
    pub(crate) async fn create(
        clones: &Clones,
        source: &CheckoutSource,
        commit: &str,
        tree: &str,
    ) -> Result<Self> {
        let dir = LockedDir::new(&clones.dir)?;
        let (meta, work) = (
            dir.path.join(META_DIR),
            dir.path.join(work_name(&source.repository.root)),
        );
        for path in [&meta, &work] {
            fs::DirBuilder::new()
                .mode(0o700)
                .create(path)
                .map_err(|error| Error::io(path, &error))?;
        }
        let private_git = source.git.fork(&meta.join("git"), &dir.path)?;
        let visible_git = source.git.fork(&work.join(".git"), &dir.path)?;
        visible_git.init_for_agent(commit, &source.tags)?;
        write_shared(&meta, &private_git)?;
        // Without any filter: none is configured.
        private_git
            .command_in(&clones.git, &work)
            .run(&["read-tree", "--reset", "-u", tree])
            .await?;
        fs::copy(private_git.index(), visible_git.index())
            .map_err(|error| Error::io(visible_git.index(), &error))?;
        let (repository, git_dirs) = (&source.repository, [&private_git, &visible_git]);
        submodules::populate(clones, repository, &private_git, &work, &meta).await?;
        lfs::populate(clones, repository, git_dirs, &work).await?;
        copy_files(repository, &clones.copied, &work, &git_dirs)?;
        Ok(Self { work, _dir: dir })
    }
}
