//! Catches panics of backend code.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use crate::Error;

/// The message of a caught panic.
pub(super) struct Panic(String);

impl Panic {
    pub(super) fn into_error(self, backend: &str) -> Error {
        Error::Panicked {
            backend: backend.to_owned(),
            message: self.0,
        }
    }
}

impl From<Box<dyn Any + Send>> for Panic {
    fn from(payload: Box<dyn Any + Send>) -> Self {
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        Self(message.unwrap_or_else(|| "without a message".to_owned()))
    }
}

/// Calls backend code and catches a panic.
pub(super) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    std::panic::catch_unwind(AssertUnwindSafe(work)).map_err(Panic::from)
}

/// Awaits backend code and catches a panic.
///
/// The future is not polled again after a panic, so its inconsistent state is never observed.
pub(super) async fn catch_async<T>(work: impl Future<Output = T>) -> Result<T, Panic> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .map_err(Panic::from)
}
