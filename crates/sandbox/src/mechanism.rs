//! The ways to hold a process in.

use std::fmt;

/// What holds a process in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mechanism {
    /// Namespaces through bubblewrap: the strongest, and the first choice.
    Bubblewrap,
    /// Landlock and seccomp: file rights and sockets, no namespaces.
    Landlock,
    /// Nothing: a scrubbed environment, limits and the death of the tree, but no walls.
    None,
}

impl Mechanism {
    /// The name as it appears in messages and on a command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }

    /// What this mechanism does not do, in sentences for people who rely on it.
    pub fn limitations(self) -> &'static [&'static str] {
        match self {
            Self::Bubblewrap => &[
                "an agent can reach every host on the network, and abstract sockets on this machine",
            ],
            Self::Landlock => &[
                "hooks and settings inside the working directory can be written",
                "names and sizes of hidden files can be seen, their content cannot",
                "an agent can reach sockets of other programs",
                "no agent can build a sandbox of its own: turn that off in the agent's settings",
                "the number of processes is not limited",
            ],
            Self::None => &[
                "nothing is hidden, nothing is read-only, the network is open",
                "a process that kills its init program first outlives us",
                "the number of processes is not limited",
            ],
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
