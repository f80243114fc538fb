//! A person at the terminal, who is asked before an agent acts.

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::Arc;

use futures::future::BoxFuture;
use windlass_core::permission::SessionApprover;
use windlass_core::{Approver, PermissionRequest};

use super::console::{Console, STRONG, WARNING};
use super::turn_printer::brief;

/// Asks on standard error, and takes the answer from standard input.
#[derive(Debug)]
struct TerminalApprover {
    console: Console,
}

/// The person, where one is there to be asked and standard input is not used up by the prompt.
pub(super) fn terminal_approver(console: &Console, prompt_from_stdin: bool) -> SessionApprover {
    let there = console.is_interactive() && io::stdin().is_terminal() && !prompt_from_stdin;
    let person = || -> Arc<dyn Approver> { Arc::new(TerminalApprover { console: *console }) };
    SessionApprover(there.then(person))
}

impl Approver for TerminalApprover {
    fn decide(&self, ask: PermissionRequest) -> BoxFuture<'_, Option<String>> {
        let asks = format!(
            "{} asks whether it may: {} {}",
            ask.agent,
            ask.tool,
            brief(&ask.input)
        );
        self.console.progress(WARNING, &asks);
        for (place, option) in ask.options.iter().enumerate() {
            let line = format!("  {}  {}", place + 1, option.label);
            self.console.progress(STRONG, &line);
        }
        Box::pin(async move {
            loop {
                let line = tokio::task::spawn_blocking(read_line).await.ok()??;
                let place = line
                    .trim()
                    .parse()
                    .ok()
                    .and_then(|place: usize| place.checked_sub(1));
                if let Some(chosen) = place.and_then(|place| ask.options.get(place)) {
                    return Some(chosen.id.clone());
                }
                let most = ask.options.len();
                let line = format!("type a number from 1 to {most}, then Enter");
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
