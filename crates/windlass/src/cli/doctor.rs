//! `windlass doctor`: what is missing, and how to get it.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass_sandbox::{CommandSpec, Host, Mechanism, Profile, Sandbox};

use super::agents::{self, Health};
use super::app::App;
use super::console::{BAD, GOOD, WARNING};
use super::exit::{CliError, Exit};
use crate::config::Config;

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    what: String,
    state: CheckStatus,
    found: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckStatus {
    Ok,
    Warning,
    Missing,
}

impl Doctor {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let mut checks = isolation(app).await;
        checks.extend(configuration(app).await);
        if self.json {
            app.console.pretty_json(&checks)?;
        } else {
            for check in &checks {
                show(app, check)?;
            }
        }
        let missing = checks
            .iter()
            .any(|check| check.state == CheckStatus::Missing);
        Ok(if missing { Exit::Failed } else { Exit::Done })
    }
}

fn show(app: &App<'_>, check: &Check) -> Result<(), CliError> {
    let (style, mark) = match check.state {
        CheckStatus::Ok => (GOOD, "ok     "),
        CheckStatus::Warning => (WARNING, "warning"),
        CheckStatus::Missing => (BAD, "missing"),
    };
    let found = windlass_core::escape_line(&check.found);
    app.console
        .line(&format!("{style}{mark}{style:#}  {}: {found}", check.what))?;
    Ok(())
}

/// What holds processes in, and whether git, which every task needs, runs behind it.
async fn isolation(app: &App<'_>) -> Vec<Check> {
    let sandbox = match Sandbox::detect(Host::current()).await {
        Ok(sandbox) => sandbox,
        Err(error) => return vec![check("isolation", CheckStatus::Missing, error.to_string())],
    };
    let state = match sandbox.mechanism() {
        Mechanism::Bubblewrap => CheckStatus::Ok,
        _ => CheckStatus::Warning,
    };
    let found = format!("{} is in force", sandbox.mechanism());
    let mut checks = vec![check("isolation", state, found)];
    for (mechanism, reason) in sandbox.rejected_mechanisms() {
        let found = format!("{mechanism} would be stronger: {reason}");
        checks.push(check("isolation", CheckStatus::Warning, found));
    }
    let git = CommandSpec::new("git", &app.inputs.cwd, Profile::tool())
        .arg("--version")
        .deadline(Duration::from_secs(10));
    checks.push(match sandbox.run(git).await {
        Ok(output) => check(
            "git",
            CheckStatus::Ok,
            output.stdout.text().trim().to_owned(),
        ),
        Err(error) => check("git", CheckStatus::Missing, error.to_string()),
    });
    checks
}

/// Whether the configuration can be read, and each agent in it be made.
async fn configuration(app: &App<'_>) -> Vec<Check> {
    let config = match Config::load(&app.inputs) {
        Ok(config) => config,
        Err(error) => {
            return vec![check(
                "configuration",
                CheckStatus::Missing,
                error.to_string(),
            )];
        }
    };
    let mut checks = vec![check(
        "configuration",
        CheckStatus::Ok,
        "can be read".to_owned(),
    )];
    for notice in config.notices() {
        checks.push(check(
            "configuration",
            CheckStatus::Warning,
            notice.to_string(),
        ));
    }
    let rows = agents::rows(app, &config).await.unwrap_or_default();
    for row in rows {
        let what = format!("agent {}", row.name);
        checks.push(match row.health {
            Health::Ok => check(&what, CheckStatus::Ok, format!("backend {}", row.backend)),
            // What nobody configured need not be there.
            Health::Problem(problem) if !row.configured => {
                check(&what, CheckStatus::Warning, problem)
            }
            Health::Problem(problem) => check(&what, CheckStatus::Missing, problem),
        });
    }
    checks
}

fn check(what: &str, state: CheckStatus, found: String) -> Check {
    Check {
        what: what.to_owned(),
        state,
        found,
    }
}
