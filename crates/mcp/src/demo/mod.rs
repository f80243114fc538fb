//! A small MCP server for demonstrations, scenarios and tests, with variants that misbehave in one way each.
//!
//! It is built with the official SDK and speaks over stdin and stdout. Any program that calls
//! [`run_if_invoked`] first in `main` can run it, so an installed `windlass` includes it.

mod process;
mod run;
mod service;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_core::McpServer;

/// The internal first argument that turns a program into the demo server.
const DEMO_ARG: &str = "__windlass_mcp_demo";

/// The name of the standalone program.
const PROGRAM: &str = "windlass-mcp-demo";

/// Whether this program becomes the demo server when started with [`DEMO_ARG`].
static IS_OWN_DEMO: AtomicBool = AtomicBool::new(false);

/// The variants of the demo server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Demo,
    Empty,
    Broken,
    Mute,
    Noisy,
    Dying,
}

/// The names of the variants.
const VARIANTS: &[(&str, Variant)] = &[
    ("demo", Variant::Demo),
    // Offers neither tools nor resources.
    ("demo-empty", Variant::Empty),
    // Exits immediately.
    ("demo-broken", Variant::Broken),
    // Never responds.
    ("demo-mute", Variant::Mute),
    // Prints non-protocol output before it responds.
    ("demo-noisy", Variant::Noisy),
    // Exits during any call.
    ("demo-dying", Variant::Dying),
];

/// Returns the names of all demo servers.
pub fn names() -> impl Iterator<Item = &'static str> {
    VARIANTS.iter().map(|(name, _)| *name)
}

/// Returns how to start the demo server of this name: with the current program if it called
/// [`run_if_invoked`], otherwise with the program installed next to it. Returns `None` if there is no such
/// server or program.
pub fn server(name: &str) -> Option<McpServer> {
    variant(name.as_ref())?;
    Some(McpServer {
        name: name.to_owned(),
        command: program()?.into_os_string().into_string().ok()?,
        args: vec![DEMO_ARG.to_owned(), name.to_owned()],
        env: Default::default(),
        network: None,
    })
}

/// Runs the demo server and exits, if this process was started for it.
///
/// Call it first in `main`, before a runtime is started.
pub fn run_if_invoked() {
    IS_OWN_DEMO.store(true, Ordering::Relaxed);
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|arg| arg == DEMO_ARG) {
        let variant = args.next().as_deref().and_then(variant);
        process::exit(variant.map_or(2, run::run))
    }
}

fn variant(name: &OsStr) -> Option<Variant> {
    let found = VARIANTS.iter().find(|(known, _)| name == *known);
    found.map(|(_, variant)| *variant)
}

fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    if IS_OWN_DEMO.load(Ordering::Relaxed) {
        return Some(own);
    }
    // A test binary is one directory below the programs it was built with.
    let mut candidates = own.ancestors().skip(1).take(2).map(|dir| dir.join(PROGRAM));
    candidates.find(|candidate| candidate.is_file())
}
