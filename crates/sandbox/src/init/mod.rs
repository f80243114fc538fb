//! The init process: the parent of every command. It ensures that no process outlives Windlass.
//!
//! It waits on a socket. Only the parent holds the other end. When that end closes for any reason,
//! including a SIGKILL of the parent, it kills every process of the tree. End of file is a state
//! and not a signal, so a late read cannot miss it. In a PID namespace the init process is process
//! 1: no process inside can kill it, and the kernel kills the rest when it exits.

mod cleanup;
mod lifeline;
mod network;
mod record;
mod start;
mod tree;
mod usage;
mod watchdog;

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

pub(crate) use record::sweep;

/// The private first argument that turns a program into the init program.
pub(crate) const INIT_ARG: &str = "__windlass_init";

/// The file name of the separately installed init program.
const PROGRAM: &str = "windlass-init";

/// Whether this program becomes the init program when started with [`INIT_ARG`].
static IS_OWN_INIT: AtomicBool = AtomicBool::new(false);

/// The init program that the caller has set.
static SET_PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Becomes the init process, and never returns, if this process was started as one.
///
/// Call it first in `main`, before a second thread exists. A program that does so needs no separate
/// init program.
pub fn run_if_invoked() {
    IS_OWN_INIT.store(true, Ordering::Relaxed);
    if std::env::args_os()
        .nth(1)
        .is_some_and(|arg| arg == INIT_ARG)
    {
        lifeline::main();
    }
}

/// Sets the init program for the children of this process: a program that calls [`run_if_invoked`].
///
/// A test needs it, because it cannot be one itself: pass `env!("CARGO_BIN_EXE_name")`. The first call counts.
pub fn set_program(path: impl Into<PathBuf>) {
    let _ = SET_PROGRAM.set(path.into());
}

/// Returns the init program for the children of this process: this program, or the one installed
/// next to it.
pub(crate) fn program() -> Result<PathBuf> {
    if let Some(path) = SET_PROGRAM.get() {
        return Ok(path.clone());
    }
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
    // A test binary is one directory below the programs it was built with.
    let candidates = own.ancestors().skip(1).take(2).map(|dir| dir.join(PROGRAM));
    candidates.into_iter().find(|candidate| candidate.is_file()).ok_or_else(|| {
        Error::NoInit(format!(
            "no {PROGRAM} next to {}: call `init::run_if_invoked()` in main, or build it with `cargo build -p windlass-sandbox`",
            own.display()
        ))
    })
}
