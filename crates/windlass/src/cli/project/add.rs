//! `windlass project add`: registers a checkout, or a project that is on this machine only as a mirror.

use clap::Args;
use windlass_tasks::{Project, ProjectIdentity};

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::publish::UserGit;
use super::super::queue::{OpenQueue, register};
use super::super::remote::{self, RemoteMirror, check_url};
use super::super::repository::repository;
use super::list::show_one;

#[derive(Debug, Args)]
pub(super) struct Add {
    /// Name of the project (default: that of the directory or of the remote)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Address of the git repository through which machines exchange commits, or the name of a remote of this checkout
    #[arg(long, value_name = "URL")]
    remote: Option<String>,
    /// Do not exchange commits through a remote any more
    #[arg(long, conflicts_with = "remote")]
    no_remote: bool,
    /// Add the remote's project without a checkout: workers of this machine use a mirror
    #[arg(long, requires = "remote")]
    mirror: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Add {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = OpenQueue::open(app).await?;
        let project = if self.mirror {
            self.add_mirror(&queue).await?
        } else {
            self.add_checkout(app, &queue).await?
        };
        show_one(app, &queue, &project, self.json).await
    }

    /// Adds the checkout of the current directory.
    async fn add_checkout(&self, app: &App<'_>, queue: &OpenQueue) -> Result<Project, CliError> {
        let root = repository(&app.inputs.cwd)?;
        let remote = match &self.remote {
            None => None,
            Some(given) => {
                // The name of a remote stands for its address.
                let git = UserGit::without_hooks(&root).await;
                let key = format!("remote.{given}.url");
                let url = git.text(&["config", "--get", &key]).await;
                Some(url.unwrap_or_else(|| given.clone()))
            }
        };
        if let Some(url) = &remote {
            check_url(url).map_err(CliError::usage)?;
        }
        let known = queue.store.projects().await?;
        let here = known.iter().find(|known| known.here && known.root == root);
        let project = match here {
            // A path from before machines had names becomes that of this machine.
            Some(here) => {
                queue
                    .store
                    .set_checkout(here.id, Some(root.clone()))
                    .await?
            }
            None => register(&*queue.store, &known, root.clone(), self.name.as_deref()).await?,
        };
        let root_commit = match project.root_commit {
            Some(known) => Some(known),
            None => remote::oldest_root(&root).await,
        };
        let kept = project.remote.filter(|_| !self.no_remote);
        let identity = ProjectIdentity {
            name: self.name.clone().unwrap_or(project.name),
            root_commit,
            remote: remote.or(kept),
        };
        if identity.remote.is_some() && identity.root_commit.is_none() {
            return Err(CliError::usage(
                "a project with a remote needs a complete history with a commit: commit first, or run git fetch --unshallow",
            ));
        }
        Ok(queue.store.identify_project(project.id, identity).await?)
    }

    /// Adds the project of a remote, from a mirror.
    async fn add_mirror(&self, queue: &OpenQueue) -> Result<Project, CliError> {
        let url = self.remote.clone().unwrap_or_default();
        check_url(&url).map_err(CliError::usage)?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => name_of(&url),
        };
        let roots = RemoteMirror::roots_of(&url).await?;
        let known = queue.store.projects().await?;
        let same = known.into_iter().find(|known| {
            let commit = known.root_commit.as_ref();
            known.remote.as_deref() == Some(&url) && commit.is_some_and(|one| roots.contains(one))
        });
        if let Some(same) = same {
            return Ok(same);
        }
        let Some(root_commit) = roots.into_iter().next() else {
            return Err(CliError::usage(format!(
                "{url} has no commit on its default branch: push one first"
            )));
        };
        let identity = ProjectIdentity {
            name,
            root_commit: Some(root_commit),
            remote: Some(url),
        };
        Ok(queue.store.add_remote_project(identity).await?)
    }
}

/// Returns the last part of an address, without `.git`.
fn name_of(url: &str) -> String {
    let path = url.trim_end_matches('/');
    let last = path.rsplit(['/', ':']).next().unwrap_or_default();
    let last = last.strip_suffix(".git").unwrap_or(last);
    if last.is_empty() {
        "project".to_owned()
    } else {
        last.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn name_is_the_last_part_of_the_address() {
        assert_eq!(name_of("git@example.org:team/shop.git"), "shop");
        assert_eq!(name_of("git@example.org:shop"), "shop");
        assert_eq!(name_of("/srv/git/shop.git/"), "shop");
        assert_eq!(name_of("https://example.org/"), "example.org");
    }
}
