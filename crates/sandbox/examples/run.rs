//! Runs one command in the current folder: `run MECHANISM PROFILE PROGRAM [ARGUMENT…]`.
//!
//! `run bubblewrap tool sh -c 'ls ~'` shows what a tool would see. The tests use it to be killed, and to be another user.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use windlass_sandbox::{Host, Mechanism, Profile, Sandbox, Spec, init};

fn main() -> Result<ExitCode> {
    init::main_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run())
}

async fn run() -> Result<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let mut word = || {
        args.next()
            .context("run MECHANISM PROFILE PROGRAM [ARGUMENT…]")
    };
    let mechanism = word()?;
    let profile = word()?;
    let program = word()?;
    let profile = match profile.to_str() {
        Some("agent") => Profile::agent(),
        Some("tool") => Profile::tool(),
        Some("test") => Profile::test(),
        _ => bail!("the profile is agent, tool or test"),
    };
    let host = Host::current();
    let sandbox = match mechanism.to_str() {
        Some("bubblewrap") => Sandbox::with(host, Mechanism::Bubblewrap).await?,
        Some("landlock") => Sandbox::with(host, Mechanism::Landlock).await?,
        Some("none") => Sandbox::with(host, Mechanism::None).await?,
        Some("auto") => Sandbox::detect(host).await?,
        _ => bail!("the mechanism is bubblewrap, landlock, none or auto"),
    };
    let mut spec = Spec::new(program, std::env::current_dir()?, profile).args(args);
    // What a caller would name for this one command; everything else stays here.
    if let Some(given) = std::env::var_os("RUN_GIVEN") {
        spec = spec.env("RUN_GIVEN", given);
    }
    writeln!(std::io::stderr(), "starting under {}", sandbox.mechanism())?;
    let output = sandbox.run(spec).await?;
    std::io::stdout().write_all(output.stdout.text().as_bytes())?;
    std::io::stderr().write_all(output.stderr.text().as_bytes())?;
    Ok(ExitCode::from(u8::try_from(output.exit.code).unwrap_or(1)))
}
