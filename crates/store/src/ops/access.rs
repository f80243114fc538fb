//! Tokens and browser sessions. Only hashes of their secrets are stored.

use std::time::Duration;

use windlass_tasks::{
    AccessToken, BrowserSession, Credentials, MAX_SESSIONS, MAX_TOKEN_NAME_BYTES, MAX_TOKENS,
    NewAccessToken, Scope, StoreError, StoreResult, TokenId,
};

use super::projects;
use crate::connection::{DbConnection, timestamp};
use crate::sql::{Row, Sql, args, decode_error, json, sql};

/// Maximum number of projects of one token. More are possible with a token of all projects.
const MAX_PROJECTS: usize = 100;

/// The columns of a token.
macro_rules! columns {
    () => {
        "id, name, hash, scopes, projects, created_at, expires_at, revoked_at"
    };
}

/// The clocks of the databases, in milliseconds.
macro_rules! sqlite_now {
    () => {
        "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
    };
}
macro_rules! postgres_now {
    () => {
        "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
    };
}

fn token(row: &Row) -> StoreResult<AccessToken> {
    let scopes: Vec<String> = row.json("scopes")?;
    let projects = match row.opt_text("projects")? {
        Some(text) => {
            serde_json::from_str(&text).map_err(|error| decode_error("projects", error))?
        }
        None => None,
    };
    Ok(AccessToken {
        id: row.id("id")?,
        name: row.text("name")?,
        // A scope of a newer version grants nothing here.
        scopes: scopes
            .iter()
            .filter_map(|name| Scope::from_name(name))
            .collect(),
        projects,
        created_at: timestamp(row.int("created_at")?),
        expires_at: row.opt_int("expires_at")?.map(timestamp),
        revoked_at: row.opt_int("revoked_at")?.map(timestamp),
    })
}

/// Validates a new token without reading the store.
pub(crate) fn check(new: &NewAccessToken) -> StoreResult<()> {
    let refused = |why: String| Err(StoreError::Refused(why));
    let name = &new.name;
    if name.trim().is_empty() || name.len() > MAX_TOKEN_NAME_BYTES {
        return refused(format!(
            "a token needs a name of 1 to {MAX_TOKEN_NAME_BYTES} bytes"
        ));
    }
    if name.chars().any(char::is_control) {
        return refused("the name of a token must not contain control characters".to_owned());
    }
    if new.scopes.is_empty() {
        return refused(format!("the token {name:?} needs at least one scope"));
    }
    match &new.projects {
        Some(projects) if projects.is_empty() || projects.len() > MAX_PROJECTS => refused(format!(
            "the token {name:?} needs 1 to {MAX_PROJECTS} projects, or all of them"
        )),
        _ => Ok(()),
    }
}

pub(crate) async fn add_token(
    db: &mut DbConnection,
    new: &NewAccessToken,
) -> StoreResult<AccessToken> {
    const SAME_NAME: Sql =
        sql!("SELECT id FROM access_token WHERE name = $1 AND revoked_at IS NULL");
    const COUNT: Sql = sql!(
        "SELECT count(*) AS n FROM access_token ",
        "WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)"
    );
    const ADD: Sql = sql!(
        "INSERT INTO access_token (name, hash, scopes, projects, created_at, expires_at) ",
        "VALUES ($1, $2, $3, $4, $5, $6) RETURNING ",
        columns!()
    );
    let name = new.name.as_str();
    if let Some(row) = db.fetch_optional(SAME_NAME, args![name]).await? {
        let id: TokenId = row.id("id")?;
        return Err(StoreError::Refused(format!(
            "token {id} is already named {name:?}: revoke it first, or choose another name"
        )));
    }
    for project in new.projects.iter().flatten() {
        projects::exists(db, *project).await?;
    }
    let now = db.now();
    let count = match db.fetch_optional(COUNT, args![now]).await? {
        Some(row) => row.int_as::<usize>("n")?,
        None => 0,
    };
    if count >= MAX_TOKENS {
        return Err(StoreError::Refused(format!(
            "there are already {MAX_TOKENS} valid tokens: revoke some of them"
        )));
    }
    let mut scopes = new.scopes.clone();
    scopes.sort_unstable();
    scopes.dedup();
    let projects = new.projects.as_ref().map(json).transpose()?;
    let values = args![
        name,
        new.hash.as_str(),
        json(&scopes)?,
        projects.as_deref(),
        now,
        new.expires_in.map(|after| later(now, after))
    ];
    match db.fetch_returning(ADD, values).await?.first() {
        Some(row) => token(row),
        None => Err(decode_error("token", "the insert returned no row")),
    }
}

/// Returns the time after a duration.
fn later(now: i64, after: Duration) -> i64 {
    now.saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX))
}

pub(crate) async fn tokens(db: &mut DbConnection) -> StoreResult<Vec<AccessToken>> {
    const ALL: Sql = sql!(
        "SELECT ",
        columns!(),
        " FROM access_token ORDER BY id LIMIT 10000"
    );
    db.fetch_all(ALL, args![])
        .await?
        .iter()
        .map(token)
        .collect()
}

pub(crate) async fn revoke_token(db: &mut DbConnection, id: TokenId) -> StoreResult<AccessToken> {
    const REVOKE: Sql = sql!(
        "UPDATE access_token SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING ",
        columns!()
    );
    const CLOSE: Sql = sql!("DELETE FROM browser_session WHERE token_hash = $1");
    let now = db.now();
    let rows = db.fetch_returning(REVOKE, args![id, now]).await?;
    let row = rows
        .first()
        .ok_or_else(|| StoreError::not_found("token", id))?;
    db.execute(CLOSE, args![row.text("hash")?]).await?;
    token(row)
}

pub(crate) async fn open_session(
    db: &mut DbConnection,
    session: &BrowserSession,
    expires_in: Duration,
) -> StoreResult<()> {
    const EXPIRED: Sql = sql!("DELETE FROM browser_session WHERE expires_at <= $1");
    const ADD: Sql = sql!(
        "INSERT INTO browser_session (hash, token_hash, host, created_at, expires_at) ",
        "VALUES ($1, $2, $3, $4, $5)"
    );
    const OLDEST: Sql = sql!(
        "DELETE FROM browser_session WHERE hash NOT IN ",
        "(SELECT hash FROM browser_session ORDER BY created_at DESC, hash LIMIT $1)"
    );
    let now = db.now();
    db.execute(EXPIRED, args![now]).await?;
    let values = args![
        session.hash.as_str(),
        session.token_hash.as_str(),
        session.host.as_str(),
        now,
        later(now, expires_in)
    ];
    db.execute(ADD, values).await?;
    let kept = i64::try_from(MAX_SESSIONS).unwrap_or(i64::MAX);
    db.execute(OLDEST, args![kept]).await
}

pub(crate) async fn close_session(db: &mut DbConnection, hash: &str) -> StoreResult<()> {
    const CLOSE: Sql = sql!("DELETE FROM browser_session WHERE hash = $1");
    db.execute(CLOSE, args![hash]).await
}

/// Returns what is valid now. This is a read, so the statements ask for the database's clock themselves.
pub(crate) async fn credentials(db: &mut DbConnection) -> StoreResult<Credentials> {
    const TOKENS: Sql = Sql {
        sqlite: concat!(
            "SELECT ",
            columns!(),
            " FROM access_token WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ",
            sqlite_now!(),
            ") ORDER BY id"
        ),
        postgres: concat!(
            "SELECT ",
            columns!(),
            " FROM access_token WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ",
            postgres_now!(),
            ") ORDER BY id"
        ),
    };
    const SESSIONS: Sql = Sql {
        sqlite: concat!(
            "SELECT hash, token_hash, host FROM browser_session WHERE expires_at > ",
            sqlite_now!()
        ),
        postgres: concat!(
            "SELECT hash, token_hash, host FROM browser_session WHERE expires_at > ",
            postgres_now!()
        ),
    };
    let mut credentials = Credentials::default();
    for row in db.fetch_all(TOKENS, args![]).await? {
        credentials.tokens.push((row.text("hash")?, token(&row)?));
    }
    for row in db.fetch_all(SESSIONS, args![]).await? {
        credentials.sessions.push(BrowserSession {
            hash: row.text("hash")?,
            token_hash: row.text("token_hash")?,
            host: row.text("host")?,
        });
    }
    Ok(credentials)
}
