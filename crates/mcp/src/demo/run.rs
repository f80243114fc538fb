//! The life of a demonstration server, from its start to its exit code.

use std::io::{self, Read, Write};

use rmcp::ServiceExt;
use rmcp::transport::io::stdio;

use super::Variant;
use super::service::DemoServer;

/// What a careless server prints on its way up: words, half a message, colours, and bytes that are no text.
const NOISE: [&[u8]; 5] = [
    b"demo-noisy: starting, please wait\n",
    b"{\"jsonrpc\": \"2.0\", \"id\":\n",
    b"{ \"level\": \"info\" }\n",
    b"\x1b[32mready\x1b[0m\n",
    b"\xff\xfe\0\n",
];

pub(super) fn run(variant: Variant) -> i32 {
    let lived = match variant {
        Variant::Broken => write_stderr("this server cannot start"),
        Variant::Mute => write_stderr("not a word").and_then(|()| listen()),
        Variant::Noisy => print_noise().and_then(|()| serve(variant)),
        Variant::Demo | Variant::Empty | Variant::Dying => serve(variant),
    };
    match lived {
        Ok(()) if variant == Variant::Broken => 1,
        Ok(()) => 0,
        Err(error) => {
            // With nobody left to tell, the code must do.
            let _ = write_stderr(&error.to_string());
            1
        }
    }
}

fn serve(variant: Variant) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        let server = DemoServer::new(variant).serve(stdio()).await;
        let server = server.map_err(io::Error::other)?;
        server.waiting().await.map_err(io::Error::other)
    });
    // Standard input is read by a thread that nobody can wake.
    runtime.shutdown_background();
    ended.map(drop)
}

/// Reads, and answers nothing.
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

pub(super) fn write_stderr(words: &str) -> io::Result<()> {
    writeln!(io::stderr(), "{words}")
}
