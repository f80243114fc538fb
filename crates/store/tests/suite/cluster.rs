//! A real PostgreSQL, shared by all test processes, with a database for each test.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};

/// A running cluster. It is stopped shortly after the last process that uses it has ended.
pub(super) struct Cluster {
    state: PathBuf,
    socket: PathBuf,
    _user: File,
}

/// A running PgBouncer. It is stopped with its cluster.
pub(super) struct Pooler {
    socket: PathBuf,
    port: u16,
}

impl Pooler {
    /// Returns the URL of a database.
    pub(super) fn url(&self, database: &str) -> String {
        url(&self.socket, &format!(":{}", self.port), database)
    }
}

/// Returns the URL of a database at a socket.
fn url(socket: &Path, port: &str, database: &str) -> String {
    // The path of the socket is the host, with its slashes escaped.
    let host = socket.display().to_string().replace('/', "%2F");
    format!("postgres://postgres@{host}{port}/{database}")
}

fn script(action: &str, state: &Path, settings: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/postgres.sh");
    let mut command = assert_cmd::Command::new(script);
    let output = command
        .arg(action)
        .arg(state)
        .args(settings)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "PostgreSQL does not start; scripts/setup installs it:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Cluster {
    /// Returns the cluster that most tests share.
    pub(super) fn shared() -> Self {
        Self::start("shared", &[])
    }

    /// Starts the cluster with this name unless it runs.
    pub(super) fn start(name: &str, settings: &[&str]) -> Self {
        let state = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("postgres")
            .join(name);
        std::fs::create_dir_all(&state).unwrap();
        let mut options = OpenOptions::new();
        let user = options
            .append(true)
            .create(true)
            .open(state.join("users"))
            .unwrap();
        user.lock_shared().unwrap();
        let socket = PathBuf::from(script("start", &state, settings));
        Self {
            state,
            socket,
            _user: user,
        }
    }

    /// Stops the cluster immediately, as in a crash, and starts it again.
    pub(super) fn restart(&self) {
        script("restart", &self.state, &[]);
    }

    /// Returns the URL of a database.
    pub(super) fn url(&self, database: &str) -> String {
        url(&self.socket, "", database)
    }

    /// Starts a PgBouncer with these settings unless one of this name runs.
    pub(super) fn pooler(&self, name: &str, settings: &[&str]) -> Pooler {
        let arguments = [&[name], settings].concat();
        let port = script("pooler", &self.state, &arguments).parse().unwrap();
        let socket = self.socket.clone();
        Pooler { socket, port }
    }

    /// Connects for the statements of a test.
    pub(super) async fn connect(&self, database: &str) -> PgConnection {
        let options = PgConnectOptions::new_without_pgpass()
            .socket(&self.socket)
            .username("postgres")
            .database(database);
        options.connect().await.unwrap()
    }

    /// Creates an empty database and returns its name.
    pub(super) async fn database(&self) -> String {
        let name = format!("t_{}", uuid::Uuid::new_v4().simple());
        let mut connection = self.connect("postgres").await;
        let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
        sqlx::raw_sql(create)
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
        name
    }
}
