//! The model wire as a cassette: written down while any model answers, and served again without it.

mod key;
mod play;
mod record;

pub(crate) use play::CassettePlayer;
pub(crate) use record::{ExchangeRecorder, record};
