//! The model wire as a cassette: written down while any model answers, and served again without it.

mod key;
mod play;
mod record;

pub(crate) use play::Tape;
pub(crate) use record::{Recorder, record};
