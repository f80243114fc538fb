//! Cline. It needs an account or a key; its login message was tested, its turns were not.

use crate::program::{AgentProgram, StatePaths, VersionProbe};

/// The program.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "cline",
    programs: &["cline"],
    install: "install it with `npm install -g cline` (Node 22 or later)",
    login: Some("run `cline auth`"),
    probe: VersionProbe::FlagWithState,
    state: StatePaths {
        variable: "HOME",
        dirs: &[".cline"],
        files: &[],
        sessions: None,
    },
    credentials: &["data/secrets.json"],
    instructions: &[],
    hosts: &["api.cline.bot", "app.cline.bot"],
    keys: &["CLINE_API_KEY"],
    provider: None,
    login_provider: None,
    env: &[],
    endpoint: None,
};
