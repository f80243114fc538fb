//! Launches a command: creates sockets and pipes and starts the init process.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::process::Stdio;
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixStream, unix::pipe};
use tokio::process::{self, Command};

use crate::child::{Child, ChildControl, Stderr};
use crate::error::{Error, Result};
use crate::init_protocol::{self, InitFds};
use crate::isolation::Isolation;
use crate::launch_plan::LaunchPlan;
use crate::lines::BoundedLines;
use crate::network::BlockedLog;
use crate::network::proxy::Proxy;
use crate::spec::{CommandSpec, Stdin};
use crate::supervise::{AbortOnDrop, Supervisor};

/// Starts the init process with its request, and a supervisor that holds its lifeline.
pub(crate) fn launch(isolation: &Isolation, spec: CommandSpec) -> Result<Child> {
    let plan = LaunchPlan::new(isolation, &spec)?;
    let program = spec.program.display().to_string();
    let child =
        start(&plan, spec, program.clone()).map_err(|source| Error::Spawn { program, source })?;
    tracing::debug!(program = child.program, mechanism = %isolation.mechanism, "started");
    // From here on the init process removes the private directories.
    plan.release_dirs();
    Ok(child)
}

fn start(plan: &LaunchPlan, spec: CommandSpec, program: String) -> io::Result<Child> {
    let request = plan.request.encode()?;
    let (ours, theirs) = StdStream::pair()?;
    let (reader, writer) = input(&spec.stdin)?;
    let (stdout, child_stdout) = output()?;
    let (stderr, child_stderr) = output()?;
    let stderr = Stderr::collect(stderr, spec.limits.output_bytes);
    let blocked = Arc::default();
    let (network, proxy) = start_proxy(plan, &blocked)?;
    let mut init = start_init(&plan.init, theirs)?;
    let fds = InitFds {
        stdin: reader,
        stdout: Some(child_stdout),
        stderr: Some(child_stderr),
        network,
    };
    match init_protocol::send_handshake(&ours, &fds) {
        // If the init process is gone, waiting for it reports that better than this error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        sent => sent?,
    }
    drop(fds);
    ours.set_nonblocking(true)?;
    let missing = || io::Error::other("the init process has no output pipe");
    let errors = init.stderr.take().ok_or_else(missing)?;
    let (control, ended) = ChildControl::new();
    let supervisor = Supervisor {
        program: program.clone(),
        init,
        errors,
        stderr: stderr.buffer(),
        lifeline: UnixStream::from_std(ours)?,
        request,
        report: Vec::new(),
        limits: spec.limits.clone(),
        resources: plan.request.limits,
        control: control.clone(),
        _proxy: proxy,
    };
    let supervised = async move {
        let result = supervisor.run().await;
        drop(ended);
        result
    };
    Ok(Child {
        stdin: write_stdin(spec.stdin, writer)?,
        stdout: BoundedLines::new(stdout, spec.limits.line_bytes),
        program,
        output_bytes: spec.limits.output_bytes,
        control,
        stderr,
        supervisor: Some(tokio::spawn(supervised)),
        exit: None,
        blocked,
        start_check: None,
    })
}

/// Starts the proxy of a process that has allowed hosts. The init process gets the descriptor.
fn start_proxy(
    plan: &LaunchPlan,
    blocked: &Arc<BlockedLog>,
) -> io::Result<(Option<OwnedFd>, Option<AbortOnDrop>)> {
    let Some((network, upstream)) = &plan.network else {
        return Ok((None, None));
    };
    let (ours, theirs) = StdStream::pair()?;
    let proxy = Proxy {
        plan: network.clone(),
        upstream: upstream.clone(),
        blocked: Arc::clone(blocked),
    };
    let serving = tokio::spawn(proxy.serve(ours));
    Ok((Some(theirs.into()), Some(AbortOnDrop(serving))))
}

/// Starts the init process with an empty environment, in a process group that the terminal's
/// signals do not reach.
#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is the crate that starts processes"
)]
fn start_init(argv: &[OsString], lifeline: StdStream) -> io::Result<process::Child> {
    let (program, args) = argv
        .split_first()
        .ok_or_else(|| io::Error::other("no init program"))?;
    Command::new(program)
        .args(args)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(lifeline)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

/// Creates the pipe for the child's standard input, or returns `None`s if the input is empty.
fn input(stdin: &Stdin) -> io::Result<(Option<OwnedFd>, Option<OwnedFd>)> {
    if let Stdin::Null = stdin {
        return Ok((None, None));
    }
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((Some(reader), Some(writer)))
}

/// Creates a pipe for the child's output: for this process, and for the child.
fn output() -> io::Result<(pipe::Receiver, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((pipe::Receiver::from_owned_fd(reader)?, writer))
}

/// Writes the given bytes in the background, or returns the writer to the caller.
fn write_stdin(stdin: Stdin, writer: Option<OwnedFd>) -> io::Result<Option<pipe::Sender>> {
    let Some(writer) = writer else {
        return Ok(None);
    };
    let mut sender = pipe::Sender::from_owned_fd(writer)?;
    let Stdin::Bytes(bytes) = stdin else {
        return Ok(Some(sender));
    };
    tokio::spawn(async move {
        // The command may exit without reading all of it.
        let _ = sender.write_all(&bytes).await;
    });
    Ok(None)
}
