//! `windlass usage`: what the agents' model calls used and cost.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;
use windlass_core::{Clock, SystemClock, Timestamp};
use windlass_store::StoreSettings;
use windlass_tasks::{ProjectId, UsageKey, UsageQuery, UsageTotal};

use super::account_limits;
use super::app::App;
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;
use super::repository::repository;
use super::table::{self, Cell};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Billionths of a dollar.
const NANOS: f64 = 1e9;

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

/// One row, as JSON. Tokens and cost are those that are known.
#[derive(Debug, Serialize)]
struct UsageRow {
    key: Option<String>,
    calls: u64,
    input_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    output_tokens: u64,
    reasoning_tokens: u64,
    calls_with_unknown_tokens: u64,
    cost_usd: f64,
    calls_with_unknown_cost: u64,
    calls_not_done: u64,
    seconds: f64,
}

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
        let totals = queue.calls.usage_totals(UsageQuery { by, since }).await?;
        let projects = queue.store.projects().await?;
        let projects: BTreeMap<ProjectId, String> =
            projects.into_iter().map(|one| (one.id, one.name)).collect();
        let rows: Vec<UsageRow> = totals
            .into_iter()
            .map(|total| row(self.by, total, &projects))
            .collect();
        if self.json {
            app.console.pretty_json(&rows)?;
        } else if self.csv {
            for line in csv(self.by, &rows) {
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

#[expect(clippy::cast_precision_loss, reason = "dollars with nine digits")]
fn row(by: RowKind, total: UsageTotal, projects: &BTreeMap<ProjectId, String>) -> UsageRow {
    let key = total.key.map(|key| match by {
        RowKind::Day => day(&key),
        RowKind::Project => {
            let known = key.parse().ok().and_then(|id: ProjectId| projects.get(&id));
            known.cloned().unwrap_or(key)
        }
        _ => key,
    });
    UsageRow {
        key,
        calls: total.calls,
        input_tokens: total.tokens.input,
        cache_read_tokens: total.tokens.cache_read,
        cache_write_tokens: total.tokens.cache_write,
        output_tokens: total.tokens.output,
        reasoning_tokens: total.tokens.reasoning,
        calls_with_unknown_tokens: total.unknown_tokens,
        cost_usd: total.cost_nanos as f64 / NANOS,
        calls_with_unknown_cost: total.unknown_cost,
        calls_not_done: total.not_done,
        seconds: total.duration.as_secs_f64(),
    }
}

/// Returns the date of a day since 1970.
fn day(number: &str) -> String {
    let seconds = number.parse().ok().and_then(|days: i64| {
        let seconds = i64::try_from(DAY.as_secs()).ok()?;
        days.checked_mul(seconds)
    });
    let time = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or(number.to_owned(), |time| {
        time.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
    })
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
    notes.join(", ")
}

fn csv(by: RowKind, rows: &[UsageRow]) -> Vec<String> {
    let mut lines = vec![format!(
        "{},calls,input_tokens,cache_read_tokens,cache_write_tokens,output_tokens,reasoning_tokens,\
         calls_with_unknown_tokens,cost_usd,calls_with_unknown_cost,calls_not_done,seconds",
        by.heading()
    )];
    for row in rows {
        let mut line = quoted(row.key.as_deref().unwrap_or_default());
        let numbers = [
            row.calls,
            row.input_tokens,
            row.cache_read_tokens,
            row.cache_write_tokens,
            row.output_tokens,
            row.reasoning_tokens,
            row.calls_with_unknown_tokens,
        ];
        for number in numbers {
            let _ = write!(line, ",{number}");
        }
        let (unknown, not_done) = (row.calls_with_unknown_cost, row.calls_not_done);
        let cost = if unknown == row.calls {
            String::new()
        } else {
            format!("{:.9}", row.cost_usd)
        };
        let _ = write!(line, ",{cost},{unknown},{not_done},{:.3}", row.seconds);
        lines.push(line);
    }
    lines
}

/// Returns a value for CSV. A spreadsheet must not read it as a formula.
fn quoted(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
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
        assert_eq!(day("20512"), "2026-02-28");
    }

    #[test]
    fn csv_values_are_quoted_and_no_formulas() {
        for (text, expected) in [
            ("gpt-5", "gpt-5"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
