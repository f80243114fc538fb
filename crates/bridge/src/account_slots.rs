//! How many calls of an account are made at the same time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use windlass_wire::{ErrorKind, ModelError};

/// How long a call waits for others of its account.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// A place among the calls of an account.
pub(crate) type AccountSlot = OwnedSemaphorePermit;

/// The places of all accounts of this process. Calls that wait get them in their order, so an agent that makes one call after the
/// other does not keep out the others.
#[derive(Debug, Default)]
pub(crate) struct AccountSlots {
    accounts: Mutex<HashMap<(String, u32), Arc<Semaphore>>>,
}

impl AccountSlots {
    /// Waits for a place among this many.
    pub(crate) async fn wait(&self, account: &str, max: u32) -> Result<AccountSlot, ModelError> {
        let key = (account.to_owned(), max);
        let slots = {
            let mut accounts = self.accounts.lock();
            let new = || Arc::new(Semaphore::new(usize::try_from(max).unwrap_or(usize::MAX)));
            Arc::clone(accounts.entry(key).or_insert_with(new))
        };
        let waiting = tokio::time::timeout(MAX_WAIT, slots.acquire_owned());
        match waiting.await {
            Ok(Ok(slot)) => Ok(slot),
            _ => {
                let seconds = MAX_WAIT.as_secs();
                let message = format!(
                    "{account} had {max} calls at the same time for {seconds} s: raise max_calls, or use fewer agents"
                );
                Err(ModelError::new(ErrorKind::Overloaded, message))
            }
        }
    }
}
