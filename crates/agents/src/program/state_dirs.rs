//! Where an agent stores its state in a run, and what of it the sandbox allows. No agent can see the state of
//! another, because it contains API keys.

use std::path::PathBuf;

use windlass_sandbox::Profile;

use super::agent_program::{AgentProgram, StatePaths};
use super::known;
use crate::bridge::BridgeMode;
use crate::{AgentContext, ProgramSettings};

/// Where an agent stores its state in one run.
#[derive(Debug)]
pub(crate) struct StateDirs {
    pub(crate) dirs: Vec<PathBuf>,
    files: Vec<PathBuf>,
    /// Set if the agent would use another directory by default.
    pub(crate) moved_to: Option<PathBuf>,
}

impl StateDirs {
    /// An agent with another endpoint gets a separate home, so that the user's settings stay unchanged.
    pub(crate) fn new(
        program: &AgentProgram,
        settings: &ProgramSettings,
        context: &AgentContext,
    ) -> Self {
        let state = &program.state;
        if let Some(managed) = managed_home(program, settings, context) {
            return Self {
                dirs: vec![managed.clone()],
                files: Vec::new(),
                moved_to: Some(managed),
            };
        }
        let host = context.sandbox().host();
        let in_home = |name: &&str| host.home().join(name);
        let from_env = host.variable(state.variable);
        let moved_to = from_env
            .filter(|_| state.variable != "HOME")
            .map(PathBuf::from);
        let files = state.files.iter().map(in_home);
        Self {
            dirs: match &moved_to {
                Some(moved) => vec![moved.clone()],
                None => state.dirs.iter().map(in_home).collect(),
            },
            files: files.filter(|file| file.exists()).collect(),
            moved_to,
        }
    }

    /// Returns the directory of the agent's session files, if it is known.
    pub(crate) fn sessions(&self, state: &StatePaths) -> Option<PathBuf> {
        Some(self.dirs.first()?.join(state.sessions?))
    }

    /// Lets the agent read the user's home and write its own state, and hides the state of other agents.
    pub(crate) fn sandbox_profile(
        &self,
        program: &AgentProgram,
        context: &AgentContext,
    ) -> Profile {
        let home = context.sandbox().host().home();
        let paths = |state: &StatePaths| state.dirs.iter().chain(state.files).copied();
        let own: Vec<&str> = paths(&program.state).collect();
        let others = known::ALL.iter().flat_map(|other| paths(&other.state));
        let profile = others
            .filter(|path| !own.contains(path))
            .fold(Profile::agent(), |profile, path| {
                profile.hide(home.join(path))
            });
        let profile = self.dirs.iter().fold(profile, Profile::state);
        self.files.iter().fold(profile, Profile::write)
    }
}

/// Returns the home that Windlass manages for an agent with another endpoint. One that uses its own login has it in its own home.
pub(crate) fn managed_home(
    program: &AgentProgram,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Option<PathBuf> {
    // Where a program that is known only by its command stores its state is not known.
    let is_managed = settings.endpoint.is_some()
        && settings.bridge != BridgeMode::PassThrough
        && !program.programs.is_empty();
    is_managed.then(|| context.state_dir().join(program.name))
}
