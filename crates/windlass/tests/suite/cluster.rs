//! A real PostgreSQL server for tests of whole processes.

use std::path::{Path, PathBuf};

/// A PostgreSQL server of this test, stopped when the test's process ends.
pub(crate) struct Cluster {
    state: PathBuf,
    socket: PathBuf,
    _user: std::fs::File,
}

impl Cluster {
    /// Starts a server of this name. That of an earlier attempt at the test, which may still run, is another one.
    pub(crate) fn start(name: &str) -> Self {
        let name = format!("postgres-{name}-{}", std::process::id());
        let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&state).unwrap();
        let user = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(state.join("users"))
            .unwrap();
        user.lock_shared().unwrap();
        Self {
            socket: script("start", &state).trim().into(),
            state,
            _user: user,
        }
    }

    /// Kills the server and starts it again.
    pub(crate) fn restart(&self) {
        script("restart", &self.state);
    }

    pub(crate) fn url(&self) -> String {
        self.url_at("")
    }

    /// Starts a PgBouncer that gives each transaction to another session, and returns its URL.
    pub(crate) fn pooler_url(&self) -> String {
        let settings = ["transactions", "pool_mode=transaction"];
        let port = script_with("pooler", &self.state, &settings);
        self.url_at(&format!(":{}", port.trim()))
    }

    fn url_at(&self, port: &str) -> String {
        let host = self.socket.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}{port}/postgres")
    }
}

fn script(action: &str, state: &Path) -> String {
    script_with(action, state, &[])
}

fn script_with(action: &str, state: &Path, args: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/postgres.sh");
    let mut command = assert_cmd::Command::new(script);
    let output = command.arg(action).arg(state).args(args).output().unwrap();
    assert!(
        output.status.success(),
        "PostgreSQL does not start; scripts/setup installs it: {output:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}
