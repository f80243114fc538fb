//! `windlass token`: manages the tokens of the server, directly in the store.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;
use windlass_core::{Clock, ExposeSecret, SystemClock, Timestamp, escape_line};
use windlass_server::Token;
use windlass_tasks::{AccessToken, NewAccessToken, ProjectId, Scope, TokenId};

use super::app::App;
use super::audit;
use super::console::QUIET;
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;
use super::table::{self, Cell};

/// The scopes, shown after the help text.
const SCOPES: &str = "Scopes: read (tasks, events, traces, agents), work (add and retry tasks), approve (merge, cancel, \
    answer questions, decide permission requests), admin (manage tokens, read the audit log), models (use agents as models). A scope grants \
    exactly what it names: to add tasks and to read them, give read and work.";

#[derive(Debug, Args)]
pub(super) struct Tokens {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a token and print it; it cannot be printed again
    #[command(after_help = SCOPES)]
    Create(Create),
    /// List the tokens with scopes, projects and expiry
    List(List),
    /// Revoke a token; its open connections end within seconds
    Revoke(Revoke),
}

#[derive(Debug, Args)]
struct Create {
    /// Name of the token, such as that of the person or program that uses it
    name: String,
    /// Scope of the token: read, work, approve, admin or models (repeatable, or separated by commas)
    #[arg(long, value_name = "SCOPE", required = true, value_delimiter = ',', value_parser = scope)]
    scope: Vec<Scope>,
    /// Project that the token can see and change, by name or number (repeatable; default: all projects of the store)
    #[arg(long, value_name = "PROJECT")]
    project: Vec<String>,
    /// Lifetime of the token, such as 12h or 30d, or never
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = lifetime)]
    expires: Lifetime,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct List {
    /// Include revoked and expired tokens
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Revoke {
    /// Name or number of the token
    token: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How long something is valid or kept; `None` means forever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lifetime(pub(super) Option<Duration>);

impl Tokens {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        match self.command {
            Command::Create(create) => create.run(app).await,
            Command::List(list) => list.run(app).await,
            Command::Revoke(revoke) => revoke.run(app).await,
        }
    }
}

impl Create {
    async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let mut projects = Vec::new();
        for name in &self.project {
            projects.push(find_project(&queue, name).await?);
        }
        let (secret, hash) = Token::generate_for_store()
            .map_err(|error| CliError::failed(format!("cannot generate a token: {error}")))?;
        let new = NewAccessToken {
            name: self.name,
            hash,
            scopes: self.scope,
            projects: (!projects.is_empty()).then_some(projects),
            expires_in: self.expires.0,
        };
        let created = queue.access.add_token(new).await?;
        let named = format!("token {:?}", created.name);
        audit::record(app, &*queue.access, "token create", named).await?;
        let secret = secret.expose_secret();
        if self.json {
            let output = json!({"token": secret, "info": created});
            app.console.pretty_json(&output)?;
            return Ok(Exit::Done);
        }
        // Only the token is on stdout, so that a script can store it.
        app.console.line(secret)?;
        let (name, scopes) = (escape_line(&created.name), scopes(&created));
        app.console.progress(
            QUIET,
            &format!("created token {name} ({scopes}): store it now, it cannot be printed again"),
        );
        Ok(Exit::Done)
    }
}

/// Finds a project of the store by name or number.
async fn find_project(queue: &ProjectQueue, name: &str) -> Result<ProjectId, CliError> {
    let projects = queue.store.projects().await?;
    let found: Vec<ProjectId> = projects
        .iter()
        .filter(|project| project.name == name || project.id.to_string() == name)
        .map(|project| project.id)
        .collect();
    match found.as_slice() {
        [project] => Ok(*project),
        [] => Err(CliError::usage(format!("there is no project {name:?}"))),
        several => Err(CliError::usage(format!(
            "{} projects are named {name:?}: give the number of one of them ({})",
            several.len(),
            several
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}

impl List {
    async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let now = SystemClock::new().now();
        let mut tokens = queue.access.tokens().await?;
        tokens.retain(|token| self.all || status(token, now) == "valid");
        if self.json {
            app.console.pretty_json(&tokens)?;
        } else if tokens.is_empty() {
            app.console
                .line("no tokens; create one with: windlass token create NAME --scope read")?;
        } else {
            let rows = tokens.iter().map(|token| row(token, now));
            let rows: Vec<[Cell; 6]> = rows.map(|row| row.map(Cell::from)).collect();
            let heading = ["token", "name", "scopes", "projects", "expires", "status"];
            table::print(app.console, heading, &rows)?;
        }
        Ok(Exit::Done)
    }
}

fn row(token: &AccessToken, now: Timestamp) -> [String; 6] {
    let projects = match &token.projects {
        Some(projects) => {
            let ids: Vec<String> = projects.iter().map(ToString::to_string).collect();
            ids.join(",")
        }
        None => "all".to_owned(),
    };
    let expires = match token.expires_at {
        Some(at) => remaining(at, now),
        None => "never".to_owned(),
    };
    [
        token.id.to_string(),
        token.name.clone(),
        scopes(token),
        projects,
        expires,
        status(token, now).to_owned(),
    ]
}

fn scopes(token: &AccessToken) -> String {
    let names: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    names.join(",")
}

fn status(token: &AccessToken, now: Timestamp) -> &'static str {
    match token.expires_at {
        _ if token.revoked_at.is_some() => "revoked",
        Some(at) if at <= now => "expired",
        _ => "valid",
    }
}

/// Returns the time until the expiry, in its largest unit.
fn remaining(at: Timestamp, now: Timestamp) -> String {
    let minutes = at.0.saturating_sub(now.0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..120 => format!("in {minutes} min"),
        120..2880 => format!("in {} h", minutes / 60),
        _ => format!("in {} days", minutes / 1440),
    }
}

impl Revoke {
    async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let tokens = queue.access.tokens().await?;
        let id = self.find(&tokens)?;
        let revoked = queue.access.revoke_token(id).await?;
        let named = format!("token {:?}", revoked.name);
        audit::record(app, &*queue.access, "token revoke", named).await?;
        if self.json {
            app.console.pretty_json(&revoked)?;
        } else {
            let name = escape_line(&revoked.name);
            app.console.line(&format!("revoked token {id}: {name}"))?;
        }
        Ok(Exit::Done)
    }

    /// Finds a token by name, else by number. Of several with the same name, only one is not revoked.
    fn find(&self, tokens: &[AccessToken]) -> Result<TokenId, CliError> {
        let named = tokens.iter().filter(|token| token.name == self.token);
        let named = named.max_by_key(|token| (token.revoked_at.is_none(), token.id));
        let numbered = || {
            tokens
                .iter()
                .find(|token| token.id.to_string() == self.token)
        };
        let found = named.or_else(numbered).map(|token| token.id);
        found.ok_or_else(|| {
            CliError::usage(format!(
                "there is no token {:?}: windlass token list --all lists them",
                self.token
            ))
        })
    }
}

fn scope(text: &str) -> Result<Scope, String> {
    Scope::from_name(text).ok_or_else(|| {
        let names = Scope::ALL.map(Scope::as_str);
        format!("expected one of {}", names.join(", "))
    })
}

pub(super) fn lifetime(text: &str) -> Result<Lifetime, String> {
    if text == "never" {
        return Ok(Lifetime(None));
    }
    let expected = || "expected a number with a unit, such as 30m, 12h or 30d, or never".to_owned();
    let (number, unit) = text
        .split_at_checked(text.len().saturating_sub(1))
        .ok_or_else(expected)?;
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(expected()),
    };
    let number: u32 = number.parse().map_err(|_| expected())?;
    if number == 0 {
        return Err(expected());
    }
    Ok(Lifetime(Some(Duration::from_secs(
        seconds * u64::from(number),
    ))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetime_has_a_unit_or_is_endless() {
        let seconds = |text: &str| lifetime(text).unwrap().0.map(|time| time.as_secs());
        assert_eq!(seconds("30d"), Some(2_592_000));
        assert_eq!(seconds("12h"), Some(43_200));
        assert_eq!(seconds("5m"), Some(300));
        assert_eq!(seconds("never"), None);
        for text in ["", "30", "d", "0d", "-1d", "1.5h", "30ä", "99999999999d"] {
            assert!(lifetime(text).is_err(), "{text}");
        }
    }
}
