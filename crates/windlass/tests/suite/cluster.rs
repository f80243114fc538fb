//! A real PostgreSQL for tests of whole processes.

use std::path::{Path, PathBuf};

/// A PostgreSQL of this test's own, stopped when its process ends.
pub(crate) struct Cluster {
    socket: PathBuf,
    _user: std::fs::File,
}

impl Cluster {
    /// Starts one under this name, unless it runs already.
    pub(crate) fn start(name: &str) -> Self {
        let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("postgres-{name}"));
        std::fs::create_dir_all(&state).unwrap();
        let user = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(state.join("users"))
            .unwrap();
        user.lock_shared().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/postgres.sh");
        let output = assert_cmd::Command::new(script)
            .arg("start")
            .arg(&state)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "PostgreSQL does not start; scripts/setup installs it: {output:?}"
        );
        Self {
            socket: String::from_utf8(output.stdout).unwrap().trim().into(),
            _user: user,
        }
    }

    pub(crate) fn url(&self) -> String {
        let host = self.socket.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}/postgres")
    }
}
