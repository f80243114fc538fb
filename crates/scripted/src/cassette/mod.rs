//! Cassettes of model exchanges: recorded while a model responds, and replayed without it.

mod key;
mod play;
mod record;
mod to_script;

pub(crate) use play::CassettePlayer;
pub(crate) use record::{ExchangeRecorder, record};
pub use to_script::RecordedScriptError;
