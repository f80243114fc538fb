//! `windlass doctor`: checks the installation and reports what is missing.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use windlass_sandbox::{CommandSpec, Host, Mechanism, Profile, Sandbox};
use windlass_tasks::Project;

use super::agents::{self, Health};
use super::app::App;
use super::console::{BAD, GOOD, WARNING};
use super::exit::{CliError, Exit};
use super::machine::local_machine;
use super::repository::repository;
use super::worker_pause;
use crate::registry;

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How long the check of the workers may wait for the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Result of one check.
#[derive(Debug)]
struct DoctorCheck {
    name: String,
    status: CheckStatus,
    detail: String,
    /// The agent that is checked, if it is neither configured nor ready. The text only names it.
    unused_agent: Option<String>,
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
        checks.extend(workers(app).await);
        if self.json {
            let checks: Vec<Value> = checks.iter().map(DoctorCheck::to_json).collect();
            app.console.pretty_json(&checks)?;
        } else {
            let (unused, shown): (Vec<_>, Vec<_>) = checks
                .iter()
                .partition(|check| check.unused_agent.is_some());
            for check in shown {
                show(app, check)?;
            }
            let unused = unused.into_iter();
            let names: Vec<&str> = unused
                .filter_map(|check| check.unused_agent.as_deref())
                .collect();
            if !names.is_empty() {
                agents::print_unused(app.console, &names)?;
            }
        }
        let missing = checks
            .iter()
            .any(|check| check.status == CheckStatus::Missing);
        Ok(if missing { Exit::Failed } else { Exit::Done })
    }
}

impl DoctorCheck {
    fn to_json(&self) -> Value {
        let Self {
            name,
            status,
            detail,
            unused_agent: _,
        } = self;
        json!({
            "name": name, "status": status, "detail": detail,
            // The old names, for one more release.
            "what": name, "state": status, "found": detail,
        })
    }
}

fn show(app: &App<'_>, check: &DoctorCheck) -> Result<(), CliError> {
    let (style, mark) = match check.status {
        CheckStatus::Ok => (GOOD, "ok     "),
        CheckStatus::Warning => (WARNING, "warning"),
        CheckStatus::Missing => (BAD, "missing"),
    };
    let detail = windlass_core::escape_line(&check.detail);
    app.console
        .line(&format!("{style}{mark}{style:#}  {}: {detail}", check.name))?;
    Ok(())
}

/// Checks the sandbox, and that git, which every task needs, runs in it.
async fn isolation(app: &App<'_>) -> Vec<DoctorCheck> {
    Sandbox::forget_probes(&Host::current());
    let found = match &app.config {
        Ok(config) => registry::sandbox(config).await,
        Err(_) => Sandbox::detect(Host::current())
            .await
            .map_err(|error| error.to_string()),
    };
    let sandbox = match found {
        Ok(sandbox) => sandbox,
        Err(problem) => return vec![check("isolation", CheckStatus::Missing, problem)],
    };
    let status = match sandbox.mechanism() {
        Mechanism::Bubblewrap => CheckStatus::Ok,
        _ => CheckStatus::Warning,
    };
    let detail = format!("using {}", sandbox.mechanism());
    let mut checks = vec![check("isolation", status, detail)];
    for (mechanism, reason) in sandbox.rejected_mechanisms() {
        let detail = format!("{mechanism} is stronger but unavailable: {reason}");
        checks.push(check("isolation", CheckStatus::Warning, detail));
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

/// Checks that the configuration can be read and that each agent can be created.
async fn configuration(app: &App<'_>) -> Vec<DoctorCheck> {
    let config = match &app.config {
        Ok(config) => config,
        Err(error) => {
            return vec![check(
                "configuration",
                CheckStatus::Missing,
                error.to_string(),
            )];
        }
    };
    let mut checks = vec![check("configuration", CheckStatus::Ok, "loaded".to_owned())];
    for notice in config.notices() {
        checks.push(check(
            "configuration",
            CheckStatus::Warning,
            notice.to_string(),
        ));
    }
    for (name, agent) in &config.agents {
        if agent.has_open_network() {
            let detail = "the network is open: it can send what it reads to any host";
            let name = format!("agent {name}");
            checks.push(check(&name, CheckStatus::Warning, detail.to_owned()));
        }
    }
    let rows = agents::rows(app).await.unwrap_or_default();
    for row in rows {
        let name = format!("agent {}", row.name);
        let unused_agent = row.is_unused().then(|| row.name.clone());
        let result = match (row.health, row.login_hint) {
            (Health::Ok, Some(hint)) => check(
                &name,
                CheckStatus::Warning,
                format!("no login found: {hint}"),
            ),
            (Health::Ok, None) => {
                let login = row.login.map(|login| format!(", {login}"));
                let fit = row.fit.map(|fit| format!(": {fit}")).unwrap_or_default();
                let login = login.unwrap_or_default();
                let detail = format!("backend {}{login}{fit}", row.backend);
                check(&name, CheckStatus::Ok, detail)
            }
            // An agent that is not configured may be missing.
            (Health::Problem(problem), _) if unused_agent.is_some() => {
                check(&name, CheckStatus::Warning, problem)
            }
            (Health::Problem(problem), _) => check(&name, CheckStatus::Missing, problem),
        };
        checks.push(DoctorCheck {
            unused_agent,
            ..result
        });
    }
    checks
}

/// Reports pauses of the workers of this project. A store that does not exist yet is not created.
async fn workers(app: &App<'_>) -> Vec<DoctorCheck> {
    let paused = async {
        let config = app.config.as_ref().ok()?;
        let root = repository(&app.inputs.cwd).ok()?;
        let url = super::store::locate(app, config, &root).await.ok()?;
        let path = url.strip_prefix("sqlite:");
        if path.is_some_and(|path| !Path::new(path.trim_start_matches("//")).exists()) {
            return None;
        }
        let mut settings = windlass_store::StoreSettings::default();
        settings.machine = local_machine(&app.inputs, &url).ok()?;
        let store = windlass_store::open_with(&url, settings).await.ok()?;
        let known = store.projects().await.ok()?;
        let is_this = |known: &Project| known.here && known.root == root;
        let project = known.into_iter().find(is_this)?;
        worker_pause::pauses(&*store, project.id).await.ok()
    };
    // A database that cannot be reached is reported by the commands that need it.
    let pauses = tokio::time::timeout(STORE_TIMEOUT, paused).await;
    let pauses = pauses.ok().flatten().unwrap_or_default();
    let warning = |pause| {
        check(
            "workers",
            CheckStatus::Warning,
            worker_pause::describe(pause),
        )
    };
    pauses.iter().map(warning).collect()
}

fn check(name: &str, status: CheckStatus, detail: String) -> DoctorCheck {
    DoctorCheck {
        name: name.to_owned(),
        status,
        detail,
        unused_agent: None,
    }
}
