//! Projects and the issues in them.

use std::path::PathBuf;

use windlass_tasks::{
    Issue, IssueId, NewIssue, NewProject, Project, ProjectId, StoreError, StoreResult,
};

use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, sql};

fn project(row: &Row) -> StoreResult<Project> {
    Ok(Project {
        id: row.id("id")?,
        name: row.text("name")?,
        root: PathBuf::from(row.text("root")?),
        created_at: timestamp(row.int("created_at")?),
    })
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
    let root = new.root.display();
    if new.root.to_str().is_none() {
        return Err(StoreError::Refused(format!(
            "the project directory {root} is not valid UTF-8"
        )));
    }
    if !new.root.is_absolute() {
        return Err(StoreError::Refused(format!(
            "the project directory {root} is not an absolute path"
        )));
    }
    Ok(())
}

pub(crate) async fn add_project(db: &mut DbConnection, new: &NewProject) -> StoreResult<Project> {
    // The no-op update makes `RETURNING` return an existing row too.
    const ADD: Sql = sql!(
        "INSERT INTO project (name, root, created_at) VALUES ($1, $2, $3) ",
        "ON CONFLICT (root) DO UPDATE SET root = excluded.root RETURNING id, name, root, created_at"
    );
    let now = db.now();
    let rows = db
        .fetch_returning(ADD, args![new.name.as_str(), new.root.to_str(), now])
        .await?;
    match rows.first() {
        Some(row) => project(row),
        None => Err(decode_error("project", "the insert returned no row")),
    }
}

pub(crate) async fn get_project(db: &mut DbConnection, id: ProjectId) -> StoreResult<Project> {
    const ONE: Sql = sql!("SELECT id, name, root, created_at FROM project WHERE id = $1");
    match db.fetch_optional(ONE, args![id]).await? {
        Some(row) => project(&row),
        None => Err(StoreError::not_found("project", id)),
    }
}

pub(crate) async fn projects(db: &mut DbConnection) -> StoreResult<Vec<Project>> {
    const ALL: Sql = sql!("SELECT id, name, root, created_at FROM project ORDER BY id LIMIT 10000");
    db.fetch_all(ALL, args![])
        .await?
        .iter()
        .map(project)
        .collect()
}

pub(crate) async fn add_issue(db: &mut DbConnection, new: &NewIssue) -> StoreResult<Issue> {
    const ADD: Sql = sql!(
        "INSERT INTO issue (project_id, title, description, created_at) VALUES ($1, $2, $3, $4) ",
        "RETURNING id, project_id, title, description, created_at"
    );
    get_project(db, new.project_id).await?;
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
