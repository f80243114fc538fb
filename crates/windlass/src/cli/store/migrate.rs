//! `windlass store migrate`: brings the store to the schema of this version, after the workers that could not go on have ended.

use std::time::Duration;

use clap::Args;
use windlass_core::escape_line;
use windlass_store::{BlockedBy, MigrationMode, MigrationPlan, StoreSettings};

use super::maintenance::url;
use crate::cli::app::App;
use crate::cli::console::QUIET;
use crate::cli::exit::{CliError, Exit};
use crate::cli::token::{Lifetime, lifetime};

/// How often the command looks whether the workers have ended.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct Migrate {
    /// Print what would be done, and which workers would have to end first; change nothing
    #[arg(long, conflicts_with = "force")]
    dry_run: bool,
    /// Migrate immediately: workers that cannot go on stop, and their tasks are taken over by others
    #[arg(long)]
    force: bool,
    /// Stop waiting for workers after this time, such as 2h
    #[arg(long, value_name = "TIME", default_value = "never", value_parser = lifetime, conflicts_with = "force")]
    wait: Lifetime,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Migrate {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let url = url(app).await?;
        let settings = StoreSettings::default();
        if self.dry_run {
            let plan = windlass_store::migration_plan(&url, &settings).await?;
            self.print(app, &plan)?;
            return Ok(Exit::Done);
        }
        let mode = if self.force {
            MigrationMode::Force
        } else {
            MigrationMode::Drain
        };
        let mut named: Vec<BlockedBy> = Vec::new();
        let wait = async {
            loop {
                let plan = windlass_store::migrate(&url, &settings, mode).await?;
                if plan.migrated {
                    return Ok::<_, CliError>(plan);
                }
                for worker in &plan.blocked_by {
                    if !named.iter().any(|known| known.id == worker.id) {
                        let text = format!("waiting for {}", describe(worker));
                        app.console.progress(QUIET, &text);
                        named.push(worker.clone());
                    }
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let plan = match self.wait.0 {
            None => wait.await?,
            Some(limit) => match tokio::time::timeout(limit, wait).await {
                Ok(plan) => plan?,
                Err(_) => return self.give_up(app, &url, &settings).await,
            },
        };
        self.print(app, &plan)?;
        Ok(Exit::Done)
    }

    /// Reports the workers that still run at the end of the time limit. They stay drained.
    async fn give_up(
        &self,
        app: &App<'_>,
        url: &str,
        settings: &StoreSettings,
    ) -> Result<Exit, CliError> {
        let plan = windlass_store::migration_plan(url, settings).await?;
        self.print(app, &plan)?;
        Ok(Exit::Timeout)
    }

    fn print(&self, app: &App<'_>, plan: &MigrationPlan) -> Result<(), CliError> {
        if self.json {
            app.console.pretty_json(plan)?;
            return Ok(());
        }
        let (from, to) = (plan.from, plan.to);
        let line = if from == to {
            format!("the store has schema version {to}: there is nothing to do")
        } else if plan.migrated {
            format!("the store was migrated from schema version {from} to {to}")
        } else {
            format!("the store has schema version {from}, and can be migrated to {to}")
        };
        app.console.line(&line)?;
        if from < to && plan.oldest <= from {
            app.console
                .line("workers of the earlier version can go on, and be upgraded in any order")?;
        }
        for worker in &plan.blocked_by {
            let end = if plan.migrated {
                "cannot go on"
            } else {
                "has to end first"
            };
            app.console.line(&format!("{} {end}", describe(worker)))?;
        }
        Ok(())
    }
}

/// Names a worker with what it runs.
fn describe(worker: &BlockedBy) -> String {
    let (name, version) = (escape_line(&worker.name), escape_line(&worker.version));
    let tasks = match worker.running {
        0 => "which runs nothing".to_owned(),
        1 => "which runs 1 task".to_owned(),
        count => format!("which runs {count} tasks"),
    };
    format!("{name} ({version}), {tasks},")
}
