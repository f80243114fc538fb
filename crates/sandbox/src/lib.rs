//! Starts processes. No other crate of Windlass does.
//!
//! A command gets an explicit working directory, an environment that starts empty, a sandbox that
//! matches its [`Profile`], bounded output and a deadline. When the command exits, when it is
//! stopped, when its [`Child`] is dropped and when this process is killed, every process it started
//! is killed too, including detached grandchildren.
//!
//! The main types are [`CommandSpec`], the command to run; [`Profile`], what it may access;
//! [`Sandbox`], the mechanism that enforces the profile; [`Child`], the running command. [`init`]
//! is the small program between this process and every command.
//!
//! Out of scope: the crate knows no shell and no agent, does not inspect command names, and does
//! not decide whether a command should run.
//!
//! ```no_run
//! use windlass_sandbox::{CommandSpec, Host, Profile, Sandbox, init};
//!
//! fn main() -> anyhow::Result<()> {
//!     init::run_if_invoked(); // must come first: this program is also its own init program
//!     tokio::runtime::Runtime::new()?.block_on(async {
//!         let sandbox = Sandbox::detect(Host::current()).await?;
//!         let tests = CommandSpec::new("cargo", "/home/me/project", Profile::test()).arg("test");
//!         let output = sandbox.run(tests).await?;
//!         println!("{} with {}", output.stdout.text(), output.exit.code);
//!         Ok(())
//!     })
//! }
//! ```

mod bubblewrap;
mod child;
mod confine;
mod environment;
mod error;
mod fs_policy;
mod head_tail;
mod home_paths;
mod host;
pub mod init;
mod init_protocol;
mod isolation;
mod keyring;
mod launch;
mod launch_plan;
mod limits;
mod lines;
mod links;
mod mechanism;
mod mount_point;
mod network;
mod path_lists;
mod probe_record;
mod profile;
mod program;
mod protect;
mod repository;
mod sandbox;
mod seccomp;
mod spec;
mod supervise;
mod terminal;
mod visible_paths;
mod working_dir;

pub use child::{Child, ChildControl, ExitReason, ExitStatus, Output};
pub use environment::NETWORK_VARS;
pub use error::{Error, Result};
pub use head_tail::CappedOutput;
pub use home_paths::{HOME_PATHS, HOME_SECRETS, HomePaths};
pub use host::Host;
pub use limits::{ExceededLimit, LimitOverrides, Resource, ResourceLimits};
pub use lines::{BoundedLines, OutputLine};
pub use mechanism::Mechanism;
pub use network::{BlockedConnection, HostRule, InvalidHost, Network};
pub use path_lists::PROTECTED_NAMES;
pub use profile::{Profile, ProfileKind};
pub use sandbox::Sandbox;
pub use spec::{CommandSpec, ProcessLimits, Stdin};
pub use terminal::run_on_terminal;
