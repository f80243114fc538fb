//! Auggie, the agent of Augment Code. It needs an account; its login message was tested, its turns were not.

use crate::program::{AgentProgram, StatePaths, VersionProbe};

/// The program.
pub(crate) const PROGRAM: AgentProgram = AgentProgram {
    name: "auggie",
    programs: &["auggie"],
    install: "install it with `npm install -g @augmentcode/auggie` (Node 22 or later)",
    login: Some("run `auggie login`"),
    probe: VersionProbe::FlagWithState,
    state: StatePaths {
        variable: "HOME",
        dirs: &[".augment"],
        files: &[],
        sessions: None,
    },
    credentials: &["session.json"],
    instructions: &[],
    hosts: &["augmentcode.com", "*.augmentcode.com"],
    keys: &["AUGMENT_SESSION_AUTH"],
    provider: None,
    login_provider: None,
    env: &[],
    endpoint: None,
};
