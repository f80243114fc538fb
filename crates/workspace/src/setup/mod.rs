//! Prepares checkouts: runs the project's set-up once and shares its result with later checkouts.
//!
//! The result is what the set-up created: `node_modules`, `.venv`, `target`, the caches of some
//! tools. It is moved into a store and is not changed there: processes in a checkout may read the
//! store but not write to it. A checkout gets real directories with links into the store, so that
//! a tool can add and replace packages in the checkout; see [`mirror`].
//!
//! Results are stored by a key, which covers the set-up command, manifests and lock files, the
//! programs and the platform ([`key`]). A result that also depends on other files, or that was
//! made from a change that is not published yet, is used for exactly the same commit only.

mod artifacts;
mod digest;
mod files;
mod key;
mod mirror;
mod prune;
mod record;
mod store;

use std::path::Path;

use windlass_tasks::TestResult;

use crate::blocking;
use crate::clone::{self, Prepared};
use crate::error::Result;
use crate::git::Git;
use crate::test_runner::{TestRunner, run_setup};

use artifacts::Artifacts;
use store::SetupStore;

/// What a fresh checkout contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'a> {
    /// This commit of the user's repository.
    Base(&'a str),
    /// This commit or tree, which an agent made. Its set-up is never used for other files.
    Change(&'a str),
}

/// The result of preparing a checkout.
#[derive(Debug, Clone, PartialEq)]
pub enum Preparation {
    /// The checkout is ready.
    Ready(Prepared),
    /// The set-up command failed. The tests did not run.
    Failed(Box<TestResult>),
}

impl TestRunner {
    /// Prepares a fresh checkout: one in which no other process has run. The result of an earlier
    /// set-up is used if its inputs are the same.
    ///
    /// Does nothing if the checkout is prepared already, or if no set-up is configured.
    pub async fn prepare(&self, checkout: &Path, source: Source<'_>) -> Result<Preparation> {
        if let Some(prepared) = clone::prepared(checkout) {
            return Ok(Preparation::Ready(prepared));
        }
        let Some(setup) = self.settings.setup_command() else {
            return Ok(Preparation::Ready(Prepared::default()));
        };
        let (Some(git), Some(store)) = (clone::private_git(checkout), &self.setup_store) else {
            return self.prepare_alone(checkout).await;
        };
        let store = SetupStore::open(store.clone())?;
        let host = self.sandbox.host().clone();
        let (root, setup) = (checkout.to_owned(), setup.to_vec());
        let shared_key = blocking(move || key::of_inputs(&root, &setup, &host)).await?;
        let exact_key = key::with_source(&shared_key, source);
        let _lock = store.lock(&shared_key, self.settings.timeout).await?;
        for key in [&shared_key, &exact_key] {
            let (store, root, key) = (store.clone(), checkout.to_owned(), key.clone());
            let found = blocking(move || {
                let Some(entry) = store.find(&key)? else {
                    return Ok(None);
                };
                Ok(Some(entry.place(&root)?))
            });
            if let Some(prepared) = found.await? {
                return Ok(Preparation::Ready(prepared));
            }
        }
        if let Some(failed) = run_setup(self, checkout).await? {
            return Ok(Preparation::Failed(Box::new(failed)));
        }
        let runner = Git::new(self.sandbox.clone(), store.path().to_owned());
        let artifacts = Artifacts::find(&runner, &git, checkout).await?;
        let is_shared = matches!(source, Source::Base(_)) && artifacts.depend_on_inputs_only();
        let key = if is_shared { shared_key } else { exact_key };
        let root = checkout.to_owned();
        let entry = blocking(move || {
            let entry = store.add(&key, &root, &artifacts)?;
            if let Err(error) = store.prune() {
                tracing::warn!(%error, "old set-up results cannot be removed");
            }
            Ok(entry)
        });
        let entry = entry.await?;
        // The set-up may have changed files of the commit.
        let restore = git.command_in(&runner, checkout);
        restore
            .run(&["checkout-index", "--all", "--force", "--quiet"])
            .await?;
        let root = checkout.to_owned();
        let prepared = blocking(move || entry.place(&root)).await?;
        Ok(Preparation::Ready(prepared))
    }

    /// Runs the set-up without sharing its result.
    async fn prepare_alone(&self, checkout: &Path) -> Result<Preparation> {
        if let Some(failed) = run_setup(self, checkout).await? {
            return Ok(Preparation::Failed(Box::new(failed)));
        }
        let prepared = Prepared::default();
        clone::record(checkout, &prepared)?;
        Ok(Preparation::Ready(prepared))
    }
}
