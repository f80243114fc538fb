//! Runs one command in the current directory: `run MECHANISM PROFILE [--state=DIR]
//! [--access=ACCESS] PROGRAM [ARGUMENT…]`.
//!
//! `run bubblewrap tool sh -c 'ls ~'` shows what a tool would see. The tests kill this program, and
//! run it as another user.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use windlass_core::DirAccess;
use windlass_sandbox::{CommandSpec, Host, Mechanism, Profile, Sandbox, init};

const USAGE: &str = "run MECHANISM PROFILE [--state=DIR] [--access=ACCESS] PROGRAM [ARGUMENT…]";

fn main() -> Result<ExitCode> {
    init::run_if_invoked();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run())
}

async fn run() -> Result<ExitCode> {
    let mut args = std::env::args().skip(1).peekable();
    let host = Host::current();
    let sandbox = match args.next().as_deref() {
        Some("bubblewrap") => Sandbox::with_mechanism(host, Mechanism::Bubblewrap).await?,
        Some("landlock") => Sandbox::with_mechanism(host, Mechanism::Landlock).await?,
        Some("none") => Sandbox::with_mechanism(host, Mechanism::None).await?,
        Some("auto") => Sandbox::detect(host).await?,
        _ => bail!("{USAGE}: the mechanism is bubblewrap, landlock, none or auto"),
    };
    let mut profile = match args.next().as_deref() {
        Some("agent") => Profile::agent(),
        Some("tool") => Profile::tool(),
        Some("test") => Profile::test(),
        _ => bail!("{USAGE}: the profile is agent, tool or test"),
    };
    while let Some(option) = args.next_if(|arg| arg.starts_with("--")) {
        profile = match option.split_once('=') {
            Some(("--state", dir)) => profile.state(dir),
            Some(("--access", "read-only")) => profile.access(DirAccess::ReadOnly),
            Some(("--access", "files")) => profile.access(DirAccess::Files),
            Some(("--access", "repository")) => profile.access(DirAccess::Repository),
            _ => bail!("{USAGE}: the access is read-only, files or repository"),
        };
    }
    let program = args.next().context(USAGE)?;
    let spec = CommandSpec::new(program, std::env::current_dir()?, profile).args(args);
    writeln!(std::io::stderr(), "starting under {}", sandbox.mechanism())?;
    let output = sandbox.run(spec).await?;
    std::io::stdout().write_all(output.stdout.text().as_bytes())?;
    std::io::stderr().write_all(output.stderr.text().as_bytes())?;
    Ok(ExitCode::from(u8::try_from(output.exit.code).unwrap_or(1)))
}
