//! The init program: the parent of every command, which sees to it that nothing outlives us.
//!
//! It waits on a socket whose other end only we hold. When that end closes, for whatever reason and
//! our own SIGKILL among them, it ends every process of the tree. End of file is a state and not a
//! signal, so it cannot be missed by looking too late. In a PID namespace it is process 1: nobody
//! inside can kill it, and the kernel kills the rest when it exits.

mod cleanup;
mod lifeline;
mod record;
mod start;
mod tree;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

pub(crate) use record::sweep;

/// The private first argument that turns a program into the init program.
pub(crate) const INIT_ARG: &str = "__windlass_init";

/// The name under which the program is installed when it stands alone.
const PROGRAM: &str = "windlass-init";

/// Whether this very program becomes the init program when started with [`WORD`].
static IS_OWN_INIT: AtomicBool = AtomicBool::new(false);

/// Becomes the init program, and never returns, if that is what this process was started for.
///
/// Call it first thing in `main`, before there is a second thread. A program that does so needs no
/// other init program.
pub fn run_if_invoked() {
    IS_OWN_INIT.store(true, Ordering::Relaxed);
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == INIT_ARG)
    {
        lifeline::main();
    }
}

/// The init program for the children of this process: itself, or the one installed beside it.
pub(crate) fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().map_err(|error| Error::NoInit(error.to_string()))?;
    if IS_OWN_INIT.load(Ordering::Relaxed) {
        let replaced = || {
            Error::NoInit(format!(
                "{} was replaced while running: start it again",
                own.display()
            ))
        };
        return if own.is_file() {
            Ok(own)
        } else {
            Err(replaced())
        };
    }
    // A test binary stands one folder below the programs it was built with.
    let beside = own
        .ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(PROGRAM));
    beside.into_iter().find(|candidate| candidate.is_file()).ok_or_else(|| {
        Error::NoInit(format!(
            "no {PROGRAM} beside {}: call `init::main_if_asked()` in main, or build it with `cargo build -p windlass-sandbox`",
            own.display()
        ))
    })
}
