//! A small MCP server for demonstrations, scenarios and tests, with relatives that misbehave in one way each.
//!
//! It is real: it is built with the official SDK and speaks over standard input and output. Any program that calls
//! [`main_if_asked`] first thing in `main` can serve it, so an installed `windlass` brings its own.

mod run;
mod service;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_core::McpServer;

/// The private first argument that turns a program into the demonstration server.
const DEMO_ARG: &str = "__windlass_mcp_demo";

/// The name of the program that is nothing else.
const PROGRAM: &str = "windlass-mcp-demo";

/// Whether this very program becomes the server when started with [`WORD`].
static IS_OWN_DEMO: AtomicBool = AtomicBool::new(false);

/// Which of the demonstration servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Demo,
    Empty,
    Broken,
    Mute,
    Noisy,
    Dying,
}

/// Their names, and what is special about each.
const VARIANTS: &[(&str, Variant)] = &[
    ("demo", Variant::Demo),
    // Offers neither tools nor resources.
    ("demo-empty", Variant::Empty),
    // Ends at once.
    ("demo-broken", Variant::Broken),
    // Never answers.
    ("demo-mute", Variant::Mute),
    // Prints what is no message before it speaks.
    ("demo-noisy", Variant::Noisy),
    // Ends in the middle of any call.
    ("demo-dying", Variant::Dying),
];

/// The names of all demonstration servers.
pub fn names() -> impl Iterator<Item = &'static str> {
    VARIANTS.iter().map(|(name, _)| *name)
}

/// How to start the demonstration server of this name: with this very program if it called [`main_if_asked`], else
/// with the one installed beside it. `None` if there is no such server or no such program.
pub fn server(name: &str) -> Option<McpServer> {
    variant(name.as_ref())?;
    Some(McpServer {
        name: name.to_owned(),
        command: program()?.into_os_string().into_string().ok()?,
        args: vec![DEMO_ARG.to_owned(), name.to_owned()],
        env: Default::default(),
    })
}

/// Becomes the demonstration server, and never returns, if that is what this process was started for.
///
/// Call it first thing in `main`, before there is a runtime.
pub fn run_if_invoked() {
    IS_OWN_DEMO.store(true, Ordering::Relaxed);
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|word| word == DEMO_ARG) {
        let variant = args.next().as_deref().and_then(variant);
        exit(variant.map_or(2, run::run))
    }
}

#[expect(
    clippy::exit,
    reason = "a server that dies in the middle of a call is part of the demonstration"
)]
fn exit(code: i32) -> ! {
    std::process::exit(code)
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
    // A test binary stands one folder below the programs it was built with.
    let mut beside = own
        .ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(PROGRAM));
    beside.find(|candidate| candidate.is_file())
}
