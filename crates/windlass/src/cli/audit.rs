//! `windlass audit`: lists the audit log of the store.

use clap::Args;
use windlass_runner::{local_time, zone_name};
use windlass_tasks::{AccessStore, AuditEntry, AuditFilter, NewAuditEntry};

use super::app::App;
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;
use super::table::{self, Cell};
use super::task::person;

#[derive(Debug, Args)]
#[command(
    after_help = "Each request that may change something has an entry, each refused one, and each command that changes \
    tokens or drains a worker. Commands that change tasks use the store directly and have none."
)]
pub(super) struct Audit {
    /// Only entries of this token's name; owner for the server's own token
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Number of entries, newest first (at most 1000)
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Audit {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let filter = AuditFilter {
            before: None,
            actor: self.actor,
            limit: self.limit,
        };
        let entries = queue.access.audit(filter).await?;
        if self.json {
            app.console.pretty_json(&entries)?;
        } else if entries.is_empty() {
            app.console.line("no entries")?;
        } else {
            let zone = zone_name();
            let rows = entries.iter().map(|entry| row(entry, &zone));
            let rows: Vec<[Cell; 5]> = rows.map(|row| row.map(Cell::from)).collect();
            let heading = ["time", "actor", "from", "result", "action"];
            table::print(app.console, heading, &rows)?;
        }
        Ok(Exit::Done)
    }
}

fn row(entry: &AuditEntry, zone: &str) -> [String; 5] {
    let action = match entry.subject.as_str() {
        "" => entry.action.clone(),
        subject => format!("{} ({subject})", entry.action),
    };
    [
        local_time(entry.at, zone).unwrap_or_else(|| entry.at.to_string()),
        entry.actor.clone(),
        entry.source.clone(),
        entry.result.clone(),
        action,
    ]
}

/// Records a command that has changed the store.
pub(super) async fn record(
    app: &App<'_>,
    access: &dyn AccessStore,
    action: &str,
    subject: String,
) -> Result<(), CliError> {
    let entry = NewAuditEntry {
        actor: person(app).await,
        source: "cli".to_owned(),
        action: action.to_owned(),
        subject,
        result: "ok".to_owned(),
        request: String::new(),
    };
    Ok(access.append_audit(entry).await?)
}
