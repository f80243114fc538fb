//! Projects and the issues in them.

use std::path::PathBuf;

use windlass_core::task::{
    Issue, IssueId, NewIssue, NewProject, Project, ProjectId, StoreError, StoreResult,
};

use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, sql};

fn project(row: &Row) -> StoreResult<Project> {
    Ok(Project {
        id: row.int("id")?,
        name: row.text("name")?,
        root: PathBuf::from(row.text("root")?),
        created_at: timestamp(row.int("created_at")?),
    })
}

fn issue(row: &Row) -> StoreResult<Issue> {
    Ok(Issue {
        id: row.int("id")?,
        project_id: row.int("project_id")?,
        title: row.text("title")?,
        description: row.text("description")?,
        created_at: timestamp(row.int("created_at")?),
    })
}

/// Whether a project can be known at all.
pub(crate) fn check(new: &NewProject) -> StoreResult<()> {
    let root = new.root.display();
    if new.root.to_str().is_none() {
        return Err(StoreError::Refused(format!(
            "the project's folder {root} has a name that is not UTF-8"
        )));
    }
    if !new.root.is_absolute() {
        return Err(StoreError::Refused(format!(
            "the project's folder {root} is not an absolute path"
        )));
    }
    Ok(())
}

pub(crate) async fn add_project(s: &mut DbConnection, new: &NewProject) -> StoreResult<Project> {
    // The row that is there already must come back too, so something is set, to what it is.
    const ADD: Sql = sql!(
        "INSERT INTO project (name, root, created_at) VALUES ($1, $2, $3) ",
        "ON CONFLICT (root) DO UPDATE SET root = excluded.root RETURNING id, name, root, created_at"
    );
    let now = s.now();
    let rows = s
        .fetch_returning(ADD, args![new.name.as_str(), new.root.to_str(), now])
        .await?;
    match rows.first() {
        Some(row) => project(row),
        None => Err(decode_error("project", "it did not come back")),
    }
}

pub(crate) async fn get_project(s: &mut DbConnection, id: ProjectId) -> StoreResult<Project> {
    const ONE: Sql = sql!("SELECT id, name, root, created_at FROM project WHERE id = $1");
    match s.fetch_optional(ONE, args![id]).await? {
        Some(row) => project(&row),
        None => Err(StoreError::not_found("project", id)),
    }
}

pub(crate) async fn projects(s: &mut DbConnection) -> StoreResult<Vec<Project>> {
    const ALL: Sql = sql!("SELECT id, name, root, created_at FROM project ORDER BY id LIMIT 10000");
    s.fetch_all(ALL, args![])
        .await?
        .iter()
        .map(project)
        .collect()
}

pub(crate) async fn add_issue(s: &mut DbConnection, new: &NewIssue) -> StoreResult<Issue> {
    const ADD: Sql = sql!(
        "INSERT INTO issue (project_id, title, description, created_at) VALUES ($1, $2, $3, $4) ",
        "RETURNING id, project_id, title, description, created_at"
    );
    get_project(s, new.project_id).await?;
    let now = s.now();
    let values = args![
        new.project_id,
        new.title.as_str(),
        new.description.as_str(),
        now
    ];
    match s.fetch_returning(ADD, values).await?.first() {
        Some(row) => issue(row),
        None => Err(decode_error("issue", "it did not come back")),
    }
}

pub(crate) async fn get_issue(s: &mut DbConnection, id: IssueId) -> StoreResult<Issue> {
    const ONE: Sql =
        sql!("SELECT id, project_id, title, description, created_at FROM issue WHERE id = $1");
    match s.fetch_optional(ONE, args![id]).await? {
        Some(row) => issue(&row),
        None => Err(StoreError::not_found("issue", id)),
    }
}
