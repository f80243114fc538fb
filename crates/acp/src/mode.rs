//! The modes of a session.

use agent_client_protocol::v1::schema::{SessionMode, SessionModeState};
use serde::{Deserialize, Serialize};
use windlass_core::permission::{PermissionPolicy, SessionApprover};
use windlass_core::{DirAccess, SessionOptions};

/// What a prompt may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mode {
    /// A conversation in which the agent can change nothing.
    Ask,
    /// A conversation in which the agent edits the files of the directory, with permission.
    #[default]
    Edit,
    /// Each prompt is a task: planned, worked on in a clone, tested, and published as a branch with a proof.
    Task,
}

impl Mode {
    /// Every mode, in the order in which clients show them.
    pub const ALL: [Self; 3] = [Self::Ask, Self::Edit, Self::Task];

    /// Returns the ID of the mode.
    pub fn id(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edit => "edit",
            Self::Task => "task",
        }
    }

    /// Returns the mode of this ID.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == id)
    }

    /// Returns the name for a person.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Ask => "Ask",
            Self::Edit => "Edit",
            Self::Task => "Task",
        }
    }

    /// Describes the mode in one sentence.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Ask => "Answers questions; the directory is read-only",
            Self::Edit => "Edits your files, and asks for permission first",
            Self::Task => {
                "Plans, works in a private clone, runs the tests, and publishes a branch with a proof"
            }
        }
    }

    /// Sets what the agent may change. A configured permission of the agent has precedence over asking.
    pub(crate) fn apply(self, options: &mut SessionOptions, approver: SessionApprover) {
        match self {
            Self::Ask => options.access = DirAccess::ReadOnly,
            Self::Edit | Self::Task => {
                options.permissions = PermissionPolicy::Ask;
                options.approver = approver;
            }
        }
    }
}

/// Returns the modes as the protocol has them.
pub(crate) fn state(current: Mode) -> SessionModeState {
    let mode = |mode: Mode| {
        SessionMode::new(mode.id(), mode.label()).description(mode.description().to_owned())
    };
    SessionModeState::new(current.id(), Mode::ALL.map(mode).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_parsed() {
        for mode in Mode::ALL {
            assert_eq!(Mode::from_id(mode.id()), Some(mode));
        }
        assert_eq!(Mode::from_id("yolo"), None);
    }

    #[test]
    fn ask_is_read_only_and_the_others_ask() {
        let options = |mode: Mode| {
            let mut options = SessionOptions::default();
            mode.apply(&mut options, SessionApprover::default());
            options
        };
        assert_eq!(options(Mode::Ask).access, DirAccess::ReadOnly);
        assert_eq!(options(Mode::Edit).access, DirAccess::Files);
        assert_eq!(options(Mode::Edit).permissions, PermissionPolicy::Ask);
    }
}
