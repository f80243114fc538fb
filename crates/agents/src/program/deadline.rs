//! Optional deadlines.

use tokio::time::Instant;

/// Waits until the given time. `None` waits forever.
pub(crate) async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
