//! A private git directory in which changes are merged, as a working copy without files that tests can use.

use std::fs;
use std::os::unix::fs::DirBuilderExt;

use super::meta::META_DIR;
use super::open::{ORIGIN_FILE, tags, work_name, write_shared};
use super::{AttemptClone, CloneOrigin, Clones, LockedDir, OpenClone};
use crate::error::{Error, Result};
use crate::git::{PrivateGitDir, Repository, write};

/// A working copy for tests of commits. It is removed when dropped.
#[derive(Debug)]
pub(crate) struct TestCopy {
    pub(crate) copy: AttemptClone,
    pub(crate) git: PrivateGitDir,
    _dir: LockedDir,
}

impl TestCopy {
    /// Creates a working copy of `repository` with the base `base`.
    pub(crate) async fn create(
        clones: &Clones,
        repository: &Repository,
        format: &str,
        base: &str,
    ) -> Result<Self> {
        let dir = LockedDir::new(&clones.dir)?;
        let meta = dir.path.join(META_DIR);
        for path in [&meta, &dir.path.join(work_name(&repository.root))] {
            fs::DirBuilder::new()
                .mode(0o700)
                .create(path)
                .map_err(|error| Error::io(path, &error))?;
        }
        let git = PrivateGitDir::create(&meta.join("git"), &dir.path, repository, format)?;
        write_shared(&meta, &git)?;
        write(&meta.join("tags"), &tags(clones, repository).await?)?;
        let origin = CloneOrigin {
            base: base.to_owned(),
            start_tree: None,
            ref_name: String::new(),
            root: repository.root.clone(),
        };
        origin.save(&meta.join(ORIGIN_FILE))?;
        let clone = OpenClone::new(repository.clone(), base, dir.path.clone());
        Ok(Self {
            copy: AttemptClone::new(clones.clone(), clone),
            git,
            _dir: dir,
        })
    }
}
