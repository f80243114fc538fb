//! Keys of the agents for kinds of tasks.

use super::{KeySpec, settings};
use crate::config::value_type::*;

settings! {
    /// The agents for tasks that name none, by the kind of the task. `windlass eval` suggests them. Other tasks get the
    /// default agent.
    #[derive(Default)]
    pub struct RoutingSettings at "routing." {
        /// The agent for tasks of the kind backend.
        backend: Option<String> as Name;
        /// The agent for tasks of the kind frontend.
        frontend: Option<String> as Name;
        /// The agent for tasks of the kind test.
        test: Option<String> as Name;
    }
}
