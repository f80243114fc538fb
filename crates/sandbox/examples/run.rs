//! Runs one command in the current folder: `run MECHANISM PROFILE [--state=FOLDER] PROGRAM
//! [ARGUMENT…]`.
//!
//! `run bubblewrap tool sh -c 'ls ~'` shows what a tool would see. The tests use it to be killed,
//! and to be another user.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use windlass_sandbox::{CommandSpec, Host, Mechanism, Profile, Sandbox, init};

const USAGE: &str = "run MECHANISM PROFILE [--state=FOLDER] PROGRAM [ARGUMENT…]";

fn main() -> Result<ExitCode> {
    init::run_if_invoked();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run())
}

async fn run() -> Result<ExitCode> {
    let mut words = std::env::args().skip(1).peekable();
    let host = Host::current();
    let sandbox = match words.next().as_deref() {
        Some("bubblewrap") => Sandbox::with_mechanism(host, Mechanism::Bubblewrap).await?,
        Some("landlock") => Sandbox::with_mechanism(host, Mechanism::Landlock).await?,
        Some("none") => Sandbox::with_mechanism(host, Mechanism::None).await?,
        Some("auto") => Sandbox::detect(host).await?,
        _ => bail!("{USAGE}: the mechanism is bubblewrap, landlock, none or auto"),
    };
    let mut profile = match words.next().as_deref() {
        Some("agent") => Profile::agent(),
        Some("tool") => Profile::tool(),
        Some("test") => Profile::test(),
        _ => bail!("{USAGE}: the profile is agent, tool or test"),
    };
    while let Some(option) = words.next_if(|word| word.starts_with("--")) {
        let folder = option.strip_prefix("--state=").context(USAGE)?;
        profile = profile.state(folder);
    }
    let program = words.next().context(USAGE)?;
    let spec = CommandSpec::new(program, std::env::current_dir()?, profile).args(words);
    writeln!(std::io::stderr(), "starting under {}", sandbox.mechanism())?;
    let output = sandbox.run(spec).await?;
    std::io::stdout().write_all(output.stdout.text().as_bytes())?;
    std::io::stderr().write_all(output.stderr.text().as_bytes())?;
    Ok(ExitCode::from(u8::try_from(output.exit.code).unwrap_or(1)))
}
