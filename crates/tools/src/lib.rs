//! What a model may do in a workspace: read, write, list, edit, search, patch, shell, python.
//!
//! Each tool is one file: an input type, from which its JSON schema is made, and what it does. Paths go
//! through a [`Root`](windlass_workspace::paths::Root), which nothing leads out of; commands go through
//! the [`sandbox`](windlass_sandbox) in its profile *tool*: no network, no secrets, nothing written
//! outside of the folder, nothing left running.
//!
//! What goes wrong is a result, for the model to read and do better: bad arguments, a missing file, a
//! command that is not on the list. Only a path that leaves the workspace is an error.
//!
//! ```no_run
//! use serde_json::json;
//! use windlass_core::Toolbox;
//! use windlass_sandbox::{Host, Sandbox};
//! use windlass_tools::{LocalTools, dispatch_tool, tool_schema};
//!
//! # async fn show() -> Result<(), Box<dyn std::error::Error>> {
//! let toolbox = LocalTools::new(Sandbox::detect(Host::current()).await?);
//! let tools = toolbox.tools("/home/me/project".as_ref())?;
//! let offered = tool_schema(&tools); // as chat completions want it
//! let said = dispatch_tool(&tools, "shell_run", json!({"cmd": "ls | wc -l"})).await?;
//! # Ok(())
//! # }
//! ```
//!
//! What it does not do: it asks nobody for permission and knows no model. Whoever offers the tools
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
