//! Optional deadlines.

use tokio::time::Instant;

/// Waits until the given time, or forever if there is none.
pub(crate) async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
