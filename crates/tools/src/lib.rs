//! The tools of a model in a workspace: read, write, list, edit, search, patch, shell, python.
//!
//! Each tool is one file with an input type, from which its JSON schema is derived, and its implementation.
//! Paths are resolved by a [`Root`](windlass_workspace::paths::Root), which confines them to the workspace.
//! Commands run in the [`sandbox`](windlass_sandbox) with the profile *tool*: no network, no secrets, no
//! writes outside the directory, no process left running.
//!
//! Failures are results that the model can read and correct: invalid arguments, a missing file, a command
//! that is not allowed. Only a path that leaves the workspace is an error.
//!
//! ```no_run
//! use serde_json::json;
//! use windlass_core::{DirAccess, Toolbox};
//! use windlass_sandbox::{Host, Sandbox};
//! use windlass_tools::{LocalTools, dispatch_tool, tool_schema};
//!
//! # async fn show() -> Result<(), Box<dyn std::error::Error>> {
//! let toolbox = LocalTools::new(Sandbox::detect(Host::current()).await?);
//! let tools = toolbox.tools("/home/me/project".as_ref(), DirAccess::Files)?;
//! let offered = tool_schema(&tools); // in the format of chat completions
//! let text = dispatch_tool(&tools, "shell_run", json!({"cmd": "ls | wc -l"})).await?;
//! # Ok(())
//! # }
//! ```
//!
//! This crate asks for no permission and does not depend on a model. The caller that offers the tools
//! decides by their [`kind`](windlass_core::ToolSpec::kind).

mod dispatch;
mod files;
mod handler;
mod local;
mod patch;
mod results;
mod run;
mod schema;
mod search;
mod truncate;

pub use dispatch::{dispatch_tool, tool_schema};
pub use files::{fs_edit, fs_list, fs_read, fs_write};
pub use local::LocalTools;
pub use patch::apply_patch;
pub use results::{FSResult, PyRunResult, ShellResult};
pub use run::{ALLOWED_COMMANDS, CommandLimits, python_run, shell_run};
pub use search::{SearchQuery, search};
