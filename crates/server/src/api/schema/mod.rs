//! The JSON of the types of `windlass-core`, which does not depend on this crate's libraries. Tests check real
//! responses against these descriptions.

#![expect(
    dead_code,
    reason = "these types are only described, values are those of windlass-core"
)]

mod event;
mod model_call;
mod record;
mod review;
mod task;

pub(crate) use event::*;
pub(crate) use model_call::*;
pub(crate) use record::*;
pub(crate) use review::*;
pub(crate) use task::*;
