//! Asks the user at the terminal for permission before an agent acts.

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::Arc;

use futures::future::BoxFuture;
use windlass_core::permission::SessionApprover;
use windlass_core::{Approver, PermissionRequest};

use super::console::{Console, WARNING};
use super::question;

/// An approver that asks on stderr and reads the answer from stdin.
#[derive(Debug)]
struct TerminalApprover {
    console: Console,
}

/// Returns the terminal approver if stdin, stdout and stderr are a terminal and the prompt is not read from stdin.
pub(super) fn terminal_approver(console: &Console, prompt_from_stdin: bool) -> SessionApprover {
    let can_ask = console.is_interactive() && io::stdin().is_terminal() && !prompt_from_stdin;
    let approver = || -> Arc<dyn Approver> { Arc::new(TerminalApprover { console: *console }) };
    SessionApprover(can_ask.then(approver))
}

impl Approver for TerminalApprover {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Option<String>> {
        question::print(&self.console, &request);
        Box::pin(async move {
            loop {
                let line = tokio::task::spawn_blocking(read_line).await.ok()??;
                let index = line
                    .trim()
                    .parse()
                    .ok()
                    .and_then(|number: usize| number.checked_sub(1));
                if let Some(chosen) = index.and_then(|index| request.options.get(index)) {
                    return Some(chosen.id.clone());
                }
                let count = request.options.len();
                let line = format!("type a number from 1 to {count}, then Enter");
                self.console.progress(WARNING, &line);
            }
        })
    }
}

fn read_line() -> Option<String> {
    let mut line = String::new();
    let mut input = io::stdin().lock();
    let read = input.by_ref().take(1024).read_line(&mut line);
    read.ok().filter(|bytes| *bytes > 0)?;
    Some(line)
}
