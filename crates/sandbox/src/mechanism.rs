//! The isolation mechanisms.

use std::fmt;

/// The mechanism that isolates a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mechanism {
    /// Namespaces through bubblewrap: the strongest mechanism and the first choice.
    Bubblewrap,
    /// Landlock and seccomp: file access and sockets, but no namespaces.
    Landlock,
    /// No isolation. The environment is still composed, limits apply and the process tree is
    /// killed.
    None,
}

impl Mechanism {
    /// Returns the name used in messages and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }

    /// Returns what this mechanism does not enforce, as text for users.
    pub fn limitations(self) -> &'static [&'static str] {
        match self {
            Self::Bubblewrap => &[
                "an agent with `network = \"open\"` can reach every network host, and abstract sockets on this machine",
            ],
            Self::Landlock => &[
                "git's own data, hooks and settings inside a writable working directory can be changed",
                "names and sizes of hidden files are visible, their content is not",
                "an agent can reach sockets of other programs",
                "an agent can reach every host at the ports of its allowed hosts, and send UDP",
                "an agent cannot create its own sandbox: turn that off in the agent's settings",
            ],
            Self::None => &[
                "nothing is hidden, nothing is read-only, the network is open",
                "a process that first kills its init process survives",
            ],
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
