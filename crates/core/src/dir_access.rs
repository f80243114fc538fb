//! What an agent may change in its working directory.

/// What a session may change in its working directory. The sandbox enforces it, whatever the agent is configured to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DirAccess {
    /// Nothing: the directory is mounted read-only.
    ReadOnly,
    /// The files, but not git's own data, because the directory is a user's checkout: what an agent writes there could
    /// make the user's next git command run a program.
    #[default]
    Files,
    /// The files and git's own data, because the directory is a private clone.
    Repository,
}
