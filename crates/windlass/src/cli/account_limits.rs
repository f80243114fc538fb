//! `windlass usage --limits` and `--clear-limit`: accounts that must wait, because their provider limits them.

use serde::Serialize;
use windlass_runner::{local_time, zone_name};
use windlass_tasks::AccountLimit;

use super::app::App;
use super::audit;
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;
use super::table::{self, Cell};

/// A limited account, as JSON.
#[derive(Debug, Serialize)]
struct LimitRow {
    account: String,
    /// Milliseconds since 1970.
    until: u64,
    seconds: u64,
    reason: String,
}

impl From<AccountLimit> for LimitRow {
    fn from(limit: AccountLimit) -> Self {
        Self {
            account: limit.account,
            until: limit.until.0,
            seconds: limit.remaining.as_secs(),
            reason: limit.reason,
        }
    }
}

pub(super) async fn list(app: &App<'_>, is_json: bool) -> Result<Exit, CliError> {
    let queue = ProjectQueue::open(app).await?;
    let limits = queue.calls.account_limits().await?;
    if is_json {
        let rows: Vec<LimitRow> = limits.into_iter().map(LimitRow::from).collect();
        app.console.pretty_json(&rows)?;
    } else if limits.is_empty() {
        app.console.line("no account must wait")?;
    } else {
        let zone = zone_name();
        let rows: Vec<[Cell; 3]> = limits
            .into_iter()
            .map(|limit| {
                let until = local_time(limit.until, &zone);
                let until = until.unwrap_or_else(|| limit.until.to_string());
                [limit.account.into(), until.into(), limit.reason.into()]
            })
            .collect();
        table::print(app.console, ["account", "waits until", "reason"], &rows)?;
    }
    Ok(Exit::Done)
}

pub(super) async fn clear(app: &App<'_>, account: &str) -> Result<Exit, CliError> {
    let queue = ProjectQueue::open(app).await?;
    let account = account.to_owned();
    if !queue.calls.clear_account_limit(account.clone()).await? {
        let message = format!("no limit of {account} is known: see windlass usage --limits");
        return Err(CliError::failed(message));
    }
    audit::record(app, &*queue.access, "usage clear-limit", account.clone()).await?;
    let message = format!("the limit of {account} is forgotten: its next call asks the provider");
    app.console.line(&message)?;
    Ok(Exit::Done)
}
