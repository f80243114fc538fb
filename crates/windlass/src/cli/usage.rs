//! `windlass usage`: what the agents' model calls used and cost.

mod csv;

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use windlass_core::{Clock, SystemClock, Timestamp};
use windlass_store::StoreSettings;
use windlass_tasks::{ProjectId, ReportedTokens, UsageKey, UsageQuery, UsageRow};

use super::account_limits;
use super::app::App;
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;
use super::repository::repository;
use super::table::{self, Cell};

#[derive(Debug, Args)]
pub(super) struct UsageCommand {
    /// What the rows stand for
    #[arg(long, value_enum, default_value_t)]
    by: RowKind,
    /// Count only calls since then: a date such as 2026-02-28, or a time span such as 7d, 12h or 30m
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values
    #[arg(long)]
    csv: bool,
    /// Show the accounts that must wait, because their provider limits them
    #[arg(long, conflicts_with_all = ["by", "since", "csv"])]
    limits: bool,
    /// Forget the limit of an account, so that its provider is asked again
    #[arg(long, value_name = "ACCOUNT", conflicts_with_all = ["by", "since", "csv", "json", "limits"])]
    clear_limit: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum RowKind {
    /// Models
    #[default]
    Model,
    /// Agents
    Agent,
    /// Tasks
    Task,
    /// Projects
    Project,
    /// Persons
    Person,
    /// Accounts: the hosts of providers
    Account,
    /// Days of UTC
    Day,
}

impl RowKind {
    fn key(self) -> UsageKey {
        match self {
            Self::Model => UsageKey::Model,
            Self::Agent => UsageKey::Agent,
            Self::Task => UsageKey::Task,
            Self::Project => UsageKey::Project,
            Self::Person => UsageKey::Person,
            Self::Account => UsageKey::Account,
            Self::Day => UsageKey::Day,
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Task => "task",
            Self::Project => "project",
            Self::Person => "person",
            Self::Account => "account",
            Self::Day => "day",
        }
    }
}

/// For how many tasks the reports of their agents are shown, those with the highest cost.
const MAX_REPORTS: usize = 200;

impl UsageCommand {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        if let Some(account) = &self.clear_limit {
            return account_limits::clear(app, account).await;
        }
        if self.limits {
            return account_limits::list(app, self.json).await;
        }
        let since = self.since.as_deref().map(since).transpose()?;
        let queue = ProjectQueue::open(app).await?;
        let by = self.by.key();
        let query = UsageQuery {
            since,
            ..UsageQuery::all(by)
        };
        let totals = queue.calls.usage_totals(query).await?;
        let projects = queue.store.projects().await?;
        let projects: BTreeMap<ProjectId, String> =
            projects.into_iter().map(|one| (one.id, one.name)).collect();
        let mut rows: Vec<UsageRow> = totals
            .into_iter()
            .map(|total| UsageRow::new(by, total, &projects))
            .collect();
        if self.by == RowKind::Task && since.is_none() {
            for row in rows.iter_mut().take(MAX_REPORTS) {
                let task = row.key.as_deref().and_then(|task| task.parse().ok());
                if let Some(task) = task {
                    let attempts = queue.store.attempts(task).await?;
                    row.reported_by_agent = ReportedTokens::of(&attempts);
                }
            }
        }
        if self.json {
            app.console.pretty_json(&rows)?;
        } else if self.csv {
            for line in csv::lines(self.by, &rows) {
                app.console.line(&line)?;
            }
        } else if rows.is_empty() {
            app.console.line("no model calls through the bridge yet")?;
        } else {
            print(app, self.by, &rows)?;
        }
        Ok(Exit::Done)
    }
}

/// Lets the bridge store its calls, for a command that opens no store otherwise. Outside of a repository there is none.
pub(super) async fn store_calls(app: &App<'_>) {
    let (Some(bridge), Ok(config), Ok(root)) =
        (&app.bridge, app.config(), repository(&app.inputs.cwd))
    else {
        return;
    };
    let url = match super::store::locate(app, config, &root).await {
        Ok(url) => url,
        Err(error) => {
            tracing::warn!(?error, "model calls are not stored");
            return;
        }
    };
    bridge.open_store_with(move || {
        let url = url.clone();
        Box::pin(async move {
            match windlass_store::open_all(&url, StoreSettings::default()).await {
                Ok(store) => Some(store.calls),
                Err(error) => {
                    tracing::warn!(%error, "model calls are not stored");
                    None
                }
            }
        })
    });
}

fn since(text: &str) -> Result<Timestamp, CliError> {
    let invalid = || {
        CliError::usage(format!(
            "--since: {text:?} is no time: use a date such as 2026-02-28, or a span such as 7d, 12h or 30m"
        ))
    };
    if let Ok(date) = text.parse::<jiff::civil::Date>() {
        let time = date
            .to_zoned(jiff::tz::TimeZone::UTC)
            .map_err(|_| invalid())?;
        let milliseconds = time.timestamp().as_millisecond();
        return u64::try_from(milliseconds)
            .map(Timestamp)
            .map_err(|_| invalid());
    }
    let seconds = match text.chars().last() {
        Some('d') => 24 * 3600,
        Some('h') => 3600,
        Some('m') => 60,
        _ => return Err(invalid()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| invalid())?;
    let span = number.checked_mul(seconds * 1000).ok_or_else(invalid)?;
    Ok(Timestamp(SystemClock::new().now().0.saturating_sub(span)))
}

fn print(app: &App<'_>, by: RowKind, rows: &[UsageRow]) -> Result<(), CliError> {
    let cells: Vec<[Cell; 7]> = rows
        .iter()
        .map(|row| {
            [
                row.key.clone().unwrap_or_else(|| "-".to_owned()).into(),
                row.calls.to_string().into(),
                row.input_tokens.to_string().into(),
                (row.cache_read_tokens + row.cache_write_tokens)
                    .to_string()
                    .into(),
                row.output_tokens.to_string().into(),
                cost(row).into(),
                notes(row).into(),
            ]
        })
        .collect();
    let heading = [
        by.heading(),
        "calls",
        "input",
        "cached",
        "output",
        "cost",
        "",
    ];
    Ok(table::print(app.console, heading, &cells)?)
}

/// Returns the known cost. If none is known, it is not shown as zero.
fn cost(row: &UsageRow) -> String {
    if row.calls_with_unknown_cost == row.calls {
        return "unknown".to_owned();
    }
    format!("${:.4}", row.cost_usd)
}

fn notes(row: &UsageRow) -> String {
    let mut notes = Vec::new();
    for (count, what) in [
        (row.calls_with_unknown_tokens, "with unknown tokens"),
        (row.calls_with_unknown_cost, "with an unknown cost"),
        (row.calls_not_done, "not completed"),
    ] {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    }
    let counted = ReportedTokens {
        input_tokens: row.input_tokens,
        output_tokens: row.output_tokens,
    };
    if let Some(reported) = row
        .reported_by_agent
        .filter(|reported| *reported != counted)
    {
        let (input, output) = (reported.input_tokens, reported.output_tokens);
        notes.push(format!("the agent reports {input} and {output} tokens"));
    }
    notes.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed() {
        assert_eq!(since("2026-02-28").unwrap(), Timestamp(1_772_236_800_000));
        assert!(since("7d").unwrap() < since("1h").unwrap());
        for bad in [
            "",
            "7",
            "d",
            "-1d",
            "7w",
            "2026-02-31",
            "99999999999999999d",
            "7é",
        ] {
            assert!(since(bad).is_err(), "{bad}");
        }
    }
}
