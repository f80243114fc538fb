//! Runs a demo server until it exits.

use std::io::{self, Read, Write};

use rmcp::ServiceExt;
use rmcp::transport::io::stdio;

use super::Variant;
use super::process::write_stderr;
use super::service::DemoServer;

/// Non-protocol output at startup: text, a partial message, colors, and bytes that are not UTF-8.
const NOISE: [&[u8]; 5] = [
    b"demo-noisy: starting, please wait\n",
    b"{\"jsonrpc\": \"2.0\", \"id\":\n",
    b"{ \"level\": \"info\" }\n",
    b"\x1b[32mready\x1b[0m\n",
    b"\xff\xfe\0\n",
];

pub(super) fn run(variant: Variant) -> i32 {
    let result = match variant {
        Variant::Broken => write_stderr("this server cannot start"),
        Variant::Mute => write_stderr("reading input without responding").and_then(|()| listen()),
        Variant::Noisy => print_noise().and_then(|()| serve(variant)),
        Variant::Demo | Variant::Empty | Variant::Dying => serve(variant),
    };
    match result {
        Ok(()) if variant == Variant::Broken => 1,
        Ok(()) => 0,
        Err(error) => {
            // If stderr is closed too, only the exit code reports the error.
            let _ = write_stderr(&error.to_string());
            1
        }
    }
}

fn serve(variant: Variant) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(async {
        let server = DemoServer::new(variant).serve(stdio()).await;
        let server = server.map_err(io::Error::other)?;
        server.waiting().await.map_err(io::Error::other)
    });
    // The thread that reads stdin cannot be woken.
    runtime.shutdown_background();
    result.map(drop)
}

/// Reads stdin and responds to nothing.
fn listen() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut chunk = [0; 4096];
    while input.read(&mut chunk)? > 0 {}
    Ok(())
}

fn print_noise() -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in NOISE {
        output.write_all(line)?;
    }
    output.flush()
}
