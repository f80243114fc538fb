//! SIGINT, SIGTERM and SIGHUP.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that requests a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopSignal {
    /// SIGINT: Ctrl-C on a terminal.
    Interrupt,
    /// SIGTERM or SIGHUP: the program is to end.
    Terminate,
}

/// Receiver of the signals that request a stop.
#[derive(Debug)]
pub(super) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Interrupts {
    /// Starts to receive the signals. From now on they no longer terminate the process.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) {
        self.next_signal().await;
    }

    /// Waits for the next signal and returns it.
    pub(super) async fn next_signal(&mut self) -> StopSignal {
        tokio::select! {
            _ = self.interrupt.recv() => StopSignal::Interrupt,
            _ = self.terminate.recv() => StopSignal::Terminate,
            _ = self.hang_up.recv() => StopSignal::Terminate,
        }
    }
}
