//! `windlass notify`: tests and lists notifications, and how they are made and sent.

mod derive;
mod send;
mod sign;

use clap::{Args, Subcommand};
use serde_json::json;
use windlass_core::escape_line;
use windlass_tasks::{Channel, Notification};

use super::app::App;
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;
pub(super) use derive::derive;
pub(super) use send::Notifier;

#[derive(Debug, Args)]
pub(super) struct Notify {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Send a test notification on every configured channel
    Test(Test),
    /// List the newest notifications, and why one was not sent
    List(List),
}

#[derive(Debug, Args)]
struct Test {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct List {
    /// Maximum number of notifications
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Notify {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        match self.command {
            Command::Test(test) => test.run(app).await,
            Command::List(list) => list.run(app).await,
        }
    }
}

impl Test {
    async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let notifier = Notifier::new(app.config()?).map_err(CliError::usage)?;
        let notifier = notifier.ok_or_else(|| {
            CliError::usage(
                "nothing is configured: set notify.desktop, notify.webhook or notify.command",
            )
        })?;
        let body = json!({
            "event": "test",
            "cause": "test",
            "title": "Windlass: a test notification",
            "text": "Windlass: a test notification",
            "details": "Notifications reach you here.",
        });
        let mut results: Vec<(Channel, Result<(), String>)> = Vec::new();
        for channel in notifier.channels() {
            results.push((channel, notifier.send(channel, "test", &body).await));
        }
        if self.json {
            let results = results.iter().map(|(channel, result)| {
                json!({ "channel": channel, "sent": result.is_ok(), "error": result.as_ref().err() })
            });
            app.console
                .pretty_json(&results.collect::<Vec<serde_json::Value>>())?;
        }
        let mut failed = Vec::new();
        for (channel, result) in results {
            let name = channel.as_str();
            match result {
                Err(error) => failed.push(format!("{name}: {}", escape_line(&error))),
                Ok(()) if self.json => {}
                Ok(()) => app.console.line(&format!("{name}: sent"))?,
            }
        }
        if failed.is_empty() {
            return Ok(Exit::Done);
        }
        Err(CliError::failed(format!("not sent: {}", failed.join("; "))))
    }
}

impl List {
    async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let project = Some(queue.project.id);
        let found = queue.store.notifications(project, self.limit).await?;
        if self.json {
            app.console.pretty_json(&found)?;
            return Ok(Exit::Done);
        }
        if found.is_empty() {
            app.console.line("no notifications")?;
        }
        for one in &found {
            app.console.line(&escape_line(&line(one)))?;
        }
        Ok(Exit::Done)
    }
}

fn line(one: &Notification) -> String {
    let title = one.body["title"].as_str().unwrap_or_default();
    let (state, channel) = (one.state.as_str(), one.channel.as_str());
    let why = one.error.as_ref().map(|error| format!(" ({error})"));
    format!("{state:<8} {channel:<8} {title}{}", why.unwrap_or_default())
}
