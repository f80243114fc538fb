//! Counts the leases of attempts that a process holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The leases of attempts that a process holds.
#[derive(Debug, Clone, Default)]
pub struct HeldLeases(Arc<AtomicU32>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct HeldLease(HeldLeases);

impl HeldLeases {
    /// Counts a lease until the result is dropped.
    pub(crate) fn hold(&self) -> HeldLease {
        self.0.fetch_add(1, Ordering::Relaxed);
        HeldLease(self.clone())
    }
}

impl HeldLease {
    /// Returns how many leases are held.
    pub(crate) fn count(&self) -> u32 {
        let HeldLeases(count) = &self.0;
        count.load(Ordering::Relaxed)
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        let HeldLeases(count) = &self.0;
        count.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::HeldLeases;

    #[test]
    fn dropped_lease_is_not_counted() {
        let leases = HeldLeases::default();
        let first = leases.hold();
        let second = leases.clone().hold();
        assert_eq!(first.count(), 2);
        drop(second);
        assert_eq!(first.count(), 1);
    }
}
