//! The only place in Windlass that starts a process.
//!
//! A command gets an explicit working directory, an environment that starts empty, walls that fit
//! its [`Profile`], output within limits and a deadline. Everything it starts ends with it,
//! detached grandchildren included: when it ends, when it is stopped, when its [`Child`] is
//! dropped, and when we are killed.
//!
//! The major parts are: [`Spec`], what to run; [`Profile`], what it may touch; [`Sandbox`], the
//! mechanism that sees to it; [`Child`], the running command; [`init`], the small program between
//! us and every command.
//!
//! What it does not do: it knows no shell and no agent, judges no command by its name, and does not
//! decide whether a command should run. It does not promise that a process with network keeps to
//! one provider.
//!
//! ```no_run
//! use windlass_sandbox::{Host, Profile, Sandbox, Spec, init};
//!
//! fn main() -> anyhow::Result<()> {
//!     init::main_if_asked(); // first thing: this program is also its own init program
//!     tokio::runtime::Runtime::new()?.block_on(async {
//!         let sandbox = Sandbox::detect(Host::current()).await?;
//!         let tests = Spec::new("cargo", "/home/me/project", Profile::test()).arg("test");
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
mod host;
pub mod init;
mod init_protocol;
mod launch;
mod launch_plan;
mod lines;
mod mechanism;
mod mount_point;
mod network;
mod path_lists;
mod profile;
mod program;
mod protect;
mod sandbox;
mod spec;
mod supervise;
mod working_dir;

pub use child::{Child, ChildControl, ExitReason, ExitStatus};
pub use error::{Error, Result};
pub use head_tail::CappedOutput;
pub use host::Host;
pub use lines::{BoundedLines, OutputLine};
pub use mechanism::Mechanism;
pub use path_lists::PROTECTED_NAMES;
pub use profile::{Profile, ProfileKind};
pub use sandbox::{Output, Sandbox};
pub use spec::{CommandSpec, ProcessLimits, Stdin};
