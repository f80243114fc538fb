//! Copies bytes between two connections until both directions have ended or nothing moves.

use std::io;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

/// A model may think for minutes before it sends the next byte.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15 * 60);
const BUFFER_BYTES: usize = 16 << 10;

/// Copies in both directions.
pub(super) async fn relay(client: TcpStream, server: TcpStream) {
    let (client_reader, client_writer) = client.into_split();
    let (server_reader, server_writer) = server.into_split();
    let last = Mutex::new(Instant::now());
    let both = async {
        tokio::join!(
            copy(client_reader, server_writer, &last),
            copy(server_reader, client_writer, &last),
        )
    };
    tokio::select! {
        // An error ends a direction like the end of its data.
        _ = both => {}
        () = idle(&last) => {}
    }
}

async fn copy(
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    last: &Mutex<Instant>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = reader.read(&mut buffer).await?;
        if count == 0 {
            return writer.shutdown().await;
        }
        writer.write_all(&buffer[..count]).await?;
        *last.lock() = Instant::now();
    }
}

async fn idle(last: &Mutex<Instant>) {
    loop {
        let due = *last.lock() + IDLE_TIMEOUT;
        sleep_until(due).await;
        if *last.lock() + IDLE_TIMEOUT <= Instant::now() {
            return;
        }
    }
}
