//! All open connections. Clients that have not authenticated share a part of them and lose the oldest ones
//! first, so that they cannot keep an authenticated client out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::ApiError;

/// The open connections of a server.
#[derive(Debug)]
pub(crate) struct Connections {
    inner: Mutex<Inner>,
    /// The maximum number of connections without authentication, in total and per address.
    max_pending: usize,
    max_per_address: usize,
    /// The maximum number of authenticated connections.
    max_authenticated: usize,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    /// Connections that have not authenticated, by number: the oldest is the first.
    pending: BTreeMap<u64, Pending>,
    by_address: HashMap<IpAddr, BTreeSet<u64>>,
    authenticated: usize,
}

#[derive(Debug)]
struct Pending {
    address: IpAddr,
    /// Closes the connection.
    close: CancellationToken,
}

impl Inner {
    /// Removes a connection that has not authenticated.
    fn remove(&mut self, number: u64) -> Option<Pending> {
        let pending = self.pending.remove(&number)?;
        if let Some(numbers) = self.by_address.get_mut(&pending.address) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_address.remove(&pending.address);
            }
        }
        Some(pending)
    }

    fn close(&mut self, number: Option<u64>) {
        if let Some(pending) = number.and_then(|number| self.remove(number)) {
            pending.close.cancel();
        }
    }

    fn oldest(&self) -> Option<u64> {
        self.pending.keys().next().copied()
    }

    fn oldest_of(&self, address: IpAddr) -> Option<u64> {
        self.by_address.get(&address)?.first().copied()
    }

    fn count_of(&self, address: IpAddr) -> usize {
        self.by_address.get(&address).map_or(0, BTreeSet::len)
    }
}

impl Connections {
    /// Creates an empty table for at most `max` connections: a quarter of them for clients that have not
    /// authenticated, and half of that quarter for one address.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        let max_pending = (max / 4).max(1);
        Arc::new(Self {
            inner: Mutex::new(Inner::default()),
            max_pending,
            max_per_address: (max_pending / 2).max(1),
            max_authenticated: max.saturating_sub(max_pending).max(1),
        })
    }

    /// Adds a connection. If there are too many, the oldest one that has not authenticated is closed: of the
    /// same address, or of all.
    pub(crate) fn add(self: &Arc<Self>, address: IpAddr, busy: mpsc::Sender<()>) -> ConnectionSlot {
        let close = CancellationToken::new();
        let mut inner = self.inner.lock();
        let number = inner.next;
        inner.next += 1;
        if inner.count_of(address) >= self.max_per_address {
            let oldest = inner.oldest_of(address);
            inner.close(oldest);
        } else if inner.pending.len() >= self.max_pending {
            let oldest = inner.oldest();
            inner.close(oldest);
        }
        let pending = Pending {
            address,
            close: close.clone(),
        };
        inner.pending.insert(number, pending);
        inner.by_address.entry(address).or_default().insert(number);
        drop(inner);
        ConnectionSlot(Arc::new(Slot {
            connections: Arc::clone(self),
            number: AtomicU64::new(number),
            close,
            _busy: busy,
        }))
    }

    /// Closes some of the oldest connections that have not authenticated, because the process has no free file
    /// descriptors.
    pub(crate) fn close_oldest(&self, count: usize) {
        let mut inner = self.inner.lock();
        for _ in 0..count {
            let oldest = inner.oldest();
            inner.close(oldest);
        }
    }
}

/// The slot of an open connection. A WebSocket keeps it after its request has ended.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionSlot(Arc<Slot>);

/// The number of a slot with an authenticated connection.
const AUTHENTICATED: u64 = u64::MAX;

#[derive(Debug)]
struct Slot {
    connections: Arc<Connections>,
    /// Its number among the connections that have not authenticated.
    number: AtomicU64,
    close: CancellationToken,
    /// While a sender exists, a stop waits.
    _busy: mpsc::Sender<()>,
}

impl ConnectionSlot {
    /// Records that a client has authenticated on this connection. From then on it is not closed in favor of
    /// another one.
    pub(crate) fn authenticate(&self) -> Result<(), ApiError> {
        let mut inner = self.0.connections.inner.lock();
        let number = self.0.number.load(Ordering::Relaxed);
        if !inner.pending.contains_key(&number) {
            // Already authenticated, or already being closed.
            return Ok(());
        }
        if inner.authenticated >= self.0.connections.max_authenticated {
            return Err(ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too_many_connections",
                "too many open connections: close some of them and try again",
            )
            .with_retry_after(1));
        }
        inner.remove(number);
        inner.authenticated += 1;
        self.0.number.store(AUTHENTICATED, Ordering::Relaxed);
        Ok(())
    }

    /// Returns when the connection must be closed in favor of another one.
    pub(crate) async fn closed(&self) {
        self.0.close.cancelled().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut inner = self.connections.inner.lock();
        let number = self.number.load(Ordering::Relaxed);
        if number == AUTHENTICATED {
            inner.authenticated -= 1;
        } else {
            inner.remove(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(connections: &Arc<Connections>, last: u8, count: usize) -> Vec<ConnectionSlot> {
        let address = IpAddr::from([127, 0, 0, last]);
        let (busy, _) = mpsc::channel(1);
        (0..count)
            .map(|_| connections.add(address, busy.clone()))
            .collect()
    }

    fn closed(slots: &[ConnectionSlot]) -> Vec<bool> {
        slots
            .iter()
            .map(|slot| slot.0.close.is_cancelled())
            .collect()
    }

    #[test]
    fn p12_oldest_connection_of_an_address_is_closed_first() {
        // 8 without authentication, 4 of them per address.
        let connections = Connections::new(32);
        let first = slots(&connections, 1, 4);
        let second = slots(&connections, 2, 6);
        assert_eq!(
            closed(&first),
            [false; 4],
            "the other address loses its own"
        );
        assert_eq!(closed(&second), [true, true, false, false, false, false]);
        let third = slots(&connections, 3, 2);
        assert_eq!(closed(&first), [true, true, false, false]);
        assert_eq!(closed(&third), [false; 2]);
        connections.close_oldest(3);
        assert_eq!(closed(&first), [true; 4]);
        assert_eq!(closed(&second), [true, true, true, false, false, false]);
    }

    #[test]
    fn p12_authenticated_connections_have_their_own_part() {
        let connections = Connections::new(8);
        let mut authenticated = Vec::new();
        for _ in 0..6 {
            let slot = slots(&connections, 1, 1).remove(0);
            slot.authenticate().unwrap();
            slot.authenticate().unwrap();
            authenticated.push(slot);
        }
        let flood = slots(&connections, 1, 100);
        assert_eq!(closed(&authenticated), [false; 6]);
        assert_eq!(
            flood.len() - 1,
            closed(&flood).iter().filter(|closed| **closed).count()
        );
        assert!(slots(&connections, 1, 1)[0].authenticate().is_err());
        drop(authenticated);
        slots(&connections, 1, 1)[0].authenticate().unwrap();
        drop(flood);
        let inner = connections.inner.lock();
        assert_eq!(
            (
                inner.pending.len(),
                inner.by_address.len(),
                inner.authenticated
            ),
            (0, 0, 0)
        );
    }
}
