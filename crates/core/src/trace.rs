//! What a request or an attempt went through, as a tree of the same nodes for every kind of agent.

mod nodes;

use serde::{Deserialize, Serialize};

pub use nodes::TraceNodes;

use crate::{ErrorCode, Timestamp, Usage};

/// One step and the steps inside it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceNode {
    /// What was done, such as `prompt` or `verify`.
    pub name: String,
    /// The agent that did it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it began.
    pub start: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    /// The exit code, where a process ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of what the process said on stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// What it consumed; cost included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How it failed, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TraceError>,
    /// The steps inside this one, in the order they began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TraceNode>,
}

/// How a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceError {
    /// The kind of fault.
    pub code: ErrorCode,
    /// What happened.
    pub message: String,
}

impl TraceNode {
    /// The usage of this step and of all steps inside it.
    ///
    /// A step that reports its own usage is taken at its word: its children are part of it.
    pub fn total_usage(&self) -> Usage {
        if let Some(usage) = &self.usage {
            return usage.clone();
        }
        let mut sum = Usage::default();
        for child in &self.children {
            sum += &child.total_usage();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(tokens: Option<u64>, children: Vec<TraceNode>) -> TraceNode {
        TraceNode {
            usage: tokens.map(|input_tokens| Usage {
                input_tokens,
                ..Usage::default()
            }),
            children,
            ..TraceNode::default()
        }
    }

    #[test]
    fn usage_adds_up_where_it_is_not_said() {
        let leaf = |tokens| node(Some(tokens), vec![]);
        let said = node(Some(10), vec![leaf(3), leaf(4)]);
        let silent = node(None, vec![leaf(3), leaf(4)]);
        let root = node(None, vec![said, silent]);
        assert_eq!(root.total_usage().input_tokens, 17);
    }
}
