//! `windlass project list`, `show` and `remove`.

use clap::Args;
use serde_json::json;
use windlass_core::escape_line;
use windlass_tasks::{Project, ProjectCheckout};

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::queue::OpenQueue;
use super::super::table::{self, Cell};
use super::find;

#[derive(Debug, Args)]
pub(super) struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// Number or name of the project
    project: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Remove {
    /// Number or name of the project
    project: String,
    /// Only forget this machine's checkout, and delete its mirror
    #[arg(long)]
    here: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = OpenQueue::open(app).await?;
        let projects = queue.store.projects().await?;
        if self.json {
            app.console.pretty_json(&json!(projects))?;
            return Ok(Exit::Done);
        }
        if projects.is_empty() {
            app.console
                .line("no project; add one with: windlass project add")?;
            return Ok(Exit::Done);
        }
        let row = |project: &Project| {
            let remote = project.remote.clone().unwrap_or_default();
            let cells = [
                project.id.to_string(),
                project.name.clone(),
                place(project),
                remote,
            ];
            cells.map(Cell::from)
        };
        let rows: Vec<[Cell; 4]> = projects.iter().map(row).collect();
        table::print(app.console, ["id", "name", "here", "remote"], &rows)?;
        Ok(Exit::Done)
    }
}

/// Describes where this machine has the files.
fn place(project: &Project) -> String {
    match (project.here, &project.remote) {
        (true, _) => project.root.to_string_lossy().into_owned(),
        (false, Some(_)) => "(mirror)".to_owned(),
        (false, None) => "(not here)".to_owned(),
    }
}

impl Show {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = OpenQueue::open(app).await?;
        let project = find(&queue, &self.project).await?;
        show_one(app, &queue, &project, self.json).await
    }
}

/// Prints a project with the paths of all machines.
pub(super) async fn show_one(
    app: &App<'_>,
    queue: &OpenQueue,
    project: &Project,
    json: bool,
) -> Result<Exit, CliError> {
    let checkouts = queue.store.checkouts(project.id).await?;
    if json {
        let output = json!({ "project": project, "checkouts": checkouts });
        app.console.pretty_json(&output)?;
        return Ok(Exit::Done);
    }
    let unknown = "not known yet";
    let mut lines = vec![
        format!("project {}: {}", project.id, escape_line(&project.name)),
        format!(
            "  root commit  {}",
            project.root_commit.as_deref().unwrap_or(unknown)
        ),
        format!(
            "  remote       {}",
            escape_line(project.remote.as_deref().unwrap_or("none"))
        ),
        format!("  here         {}", escape_line(&place(project))),
    ];
    let others = checkouts
        .iter()
        .filter(|one| one.machine != queue.machine.name);
    lines.extend(others.map(|ProjectCheckout { machine, root }| {
        let machine = if machine.is_empty() {
            "any machine"
        } else {
            machine
        };
        let root = root.to_string_lossy();
        format!("  {}  {}", escape_line(machine), escape_line(&root))
    }));
    for line in lines {
        app.console.line(&line)?;
    }
    Ok(Exit::Done)
}

impl Remove {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = OpenQueue::open(app).await?;
        let project = find(&queue, &self.project).await?;
        if self.here {
            queue.store.set_checkout(project.id, None).await?;
        } else {
            queue.store.remove_project(project.id).await?;
        }
        if let Some(mirrors) = &queue.machine.mirrors {
            let dir = mirrors.join(project.id.to_string());
            match std::fs::remove_dir_all(&dir) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    let dir = dir.display();
                    let problem = format!("the mirror {dir} was not deleted: {error}");
                    return Err(CliError::failed(problem));
                }
                _ => {}
            }
        }
        if self.json {
            let output = json!({ "project": project.id, "removed": !self.here });
            app.console.pretty_json(&output)?;
        } else {
            let what = if self.here { " from this machine" } else { "" };
            let name = escape_line(&project.name);
            app.console.line(&format!("removed {name}{what}"))?;
        }
        Ok(Exit::Done)
    }
}
