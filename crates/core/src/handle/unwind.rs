//! A panic in a backend stays in the backend.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use crate::Error;

/// What a panic said.
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
        let said = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        Self(said.unwrap_or_else(|| "without a message".to_owned()))
    }
}

/// Calls backend code.
pub(super) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    std::panic::catch_unwind(AssertUnwindSafe(work)).map_err(Panic::from)
}

/// Awaits backend code.
///
/// The future is not touched again after it panicked, so nothing half-changed is ever seen.
pub(super) async fn catch_async<T>(work: impl Future<Output = T>) -> Result<T, Panic> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .map_err(Panic::from)
}
