//! Projects and the issues in them.

use std::path::{Path, PathBuf};

use windlass_tasks::{
    Issue, IssueId, NewIssue, NewProject, Project, ProjectCheckout, ProjectId, ProjectIdentity,
    StoreError, StoreResult,
};

use crate::LocalMachine;
use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, sql};

/// Maximum size of a name, of an address and of a path.
const MAX_TEXT_BYTES: usize = 4096;

/// Selects projects with the path of the machine `$1`. A path from before machines had names counts on every machine.
macro_rules! select {
    ($($rest:expr),+) => {
        sql!(
            "SELECT id, name, root, root_commit, remote, created_at, ",
            "(SELECT checkout.root FROM checkout WHERE project_id = project.id AND machine IN ($1, '') ",
            "ORDER BY machine DESC LIMIT 1) AS here FROM project ",
            $($rest),+
        )
    };
}

fn project(row: &Row, machine: &LocalMachine) -> StoreResult<Project> {
    let here = row.opt_text("here")?;
    let mut project = Project {
        id: row.id("id")?,
        name: row.text("name")?,
        here: here.is_some(),
        root: PathBuf::from(here.unwrap_or(row.text("root")?)),
        root_commit: row.opt_text("root_commit")?,
        remote: row.opt_text("remote")?,
        created_at: timestamp(row.int("created_at")?),
    };
    if let (false, Some(_), Some(mirrors)) = (project.here, &project.remote, &machine.mirrors) {
        project.root = project.mirror_in(mirrors);
    }
    Ok(project)
}

fn issue(row: &Row) -> StoreResult<Issue> {
    Ok(Issue {
        id: row.id("id")?,
        project_id: row.id("project_id")?,
        title: row.text("title")?,
        description: row.text("description")?,
        created_at: timestamp(row.int("created_at")?),
    })
}

/// Returns the id of the store: eight hexadecimal digits.
pub(crate) async fn store_id(db: &mut DbConnection) -> StoreResult<String> {
    const ID: Sql = sql!("SELECT value FROM counter WHERE name = 'store'");
    match db.fetch_optional(ID, args![]).await? {
        Some(row) => Ok(format!("{:08x}", row.int("value")?)),
        None => Err(decode_error(
            "counter",
            "the row of the store's id is missing",
        )),
    }
}

/// Validates a new project.
pub(crate) fn check(new: &NewProject) -> StoreResult<()> {
    check_root(&new.root)
}

/// Validates the path of a checkout.
pub(crate) fn check_root(path: &Path) -> StoreResult<()> {
    let root = path.display();
    if path.to_str().is_none() {
        return Err(StoreError::Refused(format!(
            "the project directory {root} is not valid UTF-8"
        )));
    }
    if !path.is_absolute() {
        return Err(StoreError::Refused(format!(
            "the project directory {root} is not an absolute path"
        )));
    }
    Ok(())
}

/// Validates what identifies a project.
pub(crate) fn check_identity(identity: &ProjectIdentity) -> StoreResult<()> {
    let texts = [&identity.root_commit, &identity.remote];
    let texts = texts.into_iter().flatten().chain([&identity.name]);
    if texts
        .clone()
        .any(|text| text.is_empty() || text.len() > MAX_TEXT_BYTES)
    {
        return Err(StoreError::Refused(format!(
            "the name, the root commit and the remote of a project must have 1 to {MAX_TEXT_BYTES} bytes"
        )));
    }
    Ok(())
}

pub(crate) async fn add_project(
    db: &mut DbConnection,
    machine: &LocalMachine,
    new: &NewProject,
) -> StoreResult<Project> {
    // The path of another machine is a project of its own.
    const FOREIGN: Sql = sql!(
        "SELECT 1 AS n FROM project JOIN checkout ON project_id = id WHERE project.root = $1 ",
        "AND NOT (machine IN ($2, '') AND checkout.root = $1)"
    );
    let root = new.root.to_str().unwrap_or_default();
    let name = machine.name.as_str();
    if let Some(known) = at_root(db, machine, root).await? {
        return Ok(known);
    }
    let is_foreign = db.fetch_optional(FOREIGN, args![root, name]).await?;
    let first_root = match is_foreign {
        None => root.to_owned(),
        Some(_) => format!("{root}@{name}"),
    };
    let id = insert(db, &new.name, &first_root).await?;
    map(db, name, id, Some(root)).await?;
    get_project(db, machine, id).await
}

/// Returns the project with this root on the machine.
async fn at_root(
    db: &mut DbConnection,
    machine: &LocalMachine,
    root: &str,
) -> StoreResult<Option<Project>> {
    const AT: Sql = select!(
        "WHERE id = (SELECT project_id FROM checkout WHERE machine IN ($1, '') AND root = $2 ",
        "ORDER BY machine DESC LIMIT 1)"
    );
    let row = db.fetch_optional(AT, args![machine.name.as_str(), root]);
    row.await?.map(|row| project(&row, machine)).transpose()
}

async fn insert(db: &mut DbConnection, name: &str, root: &str) -> StoreResult<ProjectId> {
    // The no-op update makes `RETURNING` return an existing row too.
    const ADD: Sql = sql!(
        "INSERT INTO project (name, root, created_at) VALUES ($1, $2, $3) ",
        "ON CONFLICT (root) DO UPDATE SET root = excluded.root RETURNING id"
    );
    let now = db.now();
    let rows = db.fetch_returning(ADD, args![name, root, now]).await?;
    match rows.first() {
        Some(row) => row.id("id"),
        None => Err(decode_error("project", "the insert returned no row")),
    }
}

/// Sets where a machine has a project. No other project has that path there, and a path from before machines had names
/// becomes that of this machine.
async fn map(
    db: &mut DbConnection,
    machine: &str,
    id: ProjectId,
    root: Option<&str>,
) -> StoreResult<()> {
    const FORGET: Sql =
        sql!("DELETE FROM checkout WHERE machine IN ($1, '') AND (project_id = $2 OR root = $3)");
    const MAP: Sql = sql!(
        "INSERT INTO checkout (project_id, machine, root) VALUES ($1, $2, $3) ",
        "ON CONFLICT (project_id, machine) DO UPDATE SET root = excluded.root"
    );
    db.execute(FORGET, args![machine, id, root.unwrap_or_default()])
        .await?;
    if let Some(root) = root {
        db.execute(MAP, args![id, machine, root]).await?;
    }
    Ok(())
}

pub(crate) async fn add_remote_project(
    db: &mut DbConnection,
    machine: &LocalMachine,
    identity: &ProjectIdentity,
) -> StoreResult<Project> {
    const KNOWN: Sql =
        select!("WHERE name = $2 AND remote = $3 AND root_commit = $4 ORDER BY id LIMIT 1");
    let ProjectIdentity {
        name,
        root_commit: Some(commit),
        remote: Some(remote),
    } = identity
    else {
        return Err(StoreError::Refused(
            "a project without a checkout needs a remote and a root commit".to_owned(),
        ));
    };
    let machine_name = machine.name.as_str();
    let values = args![
        machine_name,
        name.as_str(),
        remote.as_str(),
        commit.as_str()
    ];
    if let Some(row) = db.fetch_optional(KNOWN, values).await? {
        return project(&row, machine);
    }
    // No path has this form.
    let id = insert(db, name, &format!("{name} {commit} {remote}")).await?;
    identify_project(db, machine, id, identity).await
}

pub(crate) async fn identify_project(
    db: &mut DbConnection,
    machine: &LocalMachine,
    id: ProjectId,
    identity: &ProjectIdentity,
) -> StoreResult<Project> {
    const SET: Sql =
        sql!("UPDATE project SET name = $2, root_commit = $3, remote = $4 WHERE id = $1");
    let values = args![
        id,
        identity.name.as_str(),
        identity.root_commit.as_deref(),
        identity.remote.as_deref()
    ];
    db.execute(SET, values).await?;
    get_project(db, machine, id).await
}

pub(crate) async fn set_checkout(
    db: &mut DbConnection,
    machine: &LocalMachine,
    id: ProjectId,
    root: Option<&Path>,
) -> StoreResult<Project> {
    get_project(db, machine, id).await?;
    map(db, &machine.name, id, root.and_then(Path::to_str)).await?;
    get_project(db, machine, id).await
}

pub(crate) async fn checkouts(
    db: &mut DbConnection,
    id: ProjectId,
) -> StoreResult<Vec<ProjectCheckout>> {
    const ALL: Sql = sql!(
        "SELECT machine, root FROM checkout WHERE project_id = $1 ORDER BY machine LIMIT 10000"
    );
    let rows = db.fetch_all(ALL, args![id]).await?;
    let checkout = |row: &Row| {
        Ok(ProjectCheckout {
            machine: row.text("machine")?,
            root: PathBuf::from(row.text("root")?),
        })
    };
    rows.iter().map(checkout).collect()
}

pub(crate) async fn remove_project(
    db: &mut DbConnection,
    machine: &LocalMachine,
    id: ProjectId,
) -> StoreResult<()> {
    const TASKS: Sql = sql!("SELECT count(*) AS n FROM task WHERE project_id = $1");
    const REMOVE: [Sql; 5] = [
        sql!("DELETE FROM checkout WHERE project_id = $1"),
        sql!("DELETE FROM schedule WHERE project_id = $1"),
        sql!("DELETE FROM worker_pause WHERE project_id = $1"),
        sql!("DELETE FROM issue WHERE project_id = $1"),
        sql!("DELETE FROM project WHERE id = $1"),
    ];
    let name = get_project(db, machine, id).await?.name;
    let count = db.fetch_optional(TASKS, args![id]).await?;
    let count = count.map(|row| row.int("n")).transpose()?.unwrap_or(0);
    if count > 0 {
        return Err(StoreError::Refused(format!(
            "project {name} has {count} tasks, whose records would be lost: it stays"
        )));
    }
    for statement in REMOVE {
        db.execute(statement, args![id]).await?;
    }
    Ok(())
}

pub(crate) async fn get_project(
    db: &mut DbConnection,
    machine: &LocalMachine,
    id: ProjectId,
) -> StoreResult<Project> {
    const ONE: Sql = select!("WHERE id = $2");
    match db
        .fetch_optional(ONE, args![machine.name.as_str(), id])
        .await?
    {
        Some(row) => project(&row, machine),
        None => Err(StoreError::not_found("project", id)),
    }
}

pub(crate) async fn projects(
    db: &mut DbConnection,
    machine: &LocalMachine,
) -> StoreResult<Vec<Project>> {
    const ALL: Sql = select!("ORDER BY id LIMIT 10000");
    db.fetch_all(ALL, args![machine.name.as_str()])
        .await?
        .iter()
        .map(|row| project(row, machine))
        .collect()
}

pub(crate) async fn add_issue(db: &mut DbConnection, new: &NewIssue) -> StoreResult<Issue> {
    const ADD: Sql = sql!(
        "INSERT INTO issue (project_id, title, description, created_at) VALUES ($1, $2, $3, $4) ",
        "RETURNING id, project_id, title, description, created_at"
    );
    exists(db, new.project_id).await?;
    let now = db.now();
    let values = args![
        new.project_id,
        new.title.as_str(),
        new.description.as_str(),
        now
    ];
    match db.fetch_returning(ADD, values).await?.first() {
        Some(row) => issue(row),
        None => Err(decode_error("issue", "the insert returned no row")),
    }
}

pub(crate) async fn get_issue(db: &mut DbConnection, id: IssueId) -> StoreResult<Issue> {
    const ONE: Sql =
        sql!("SELECT id, project_id, title, description, created_at FROM issue WHERE id = $1");
    match db.fetch_optional(ONE, args![id]).await? {
        Some(row) => issue(&row),
        None => Err(StoreError::not_found("issue", id)),
    }
}

/// Fails unless there is a project with this id.
pub(crate) async fn exists(db: &mut DbConnection, id: ProjectId) -> StoreResult<()> {
    const ONE: Sql = sql!("SELECT 1 AS n FROM project WHERE id = $1");
    match db.fetch_optional(ONE, args![id]).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::not_found("project", id)),
    }
}
