//! A local relay between agents and their model providers.
//!
//! Each process of an agent gets its own address on loopback and its own token ([`ModelBridge`]). The bridge replaces the
//! token by the provider's key and passes the call on: the bytes of request and response are unchanged. On the side it
//! reads what each call used, and stores it.
//!
//! ```text
//! agent ─► listener ─► credentials ─► forward ─► provider
//!                                        │
//!                            meter ◄── metered body ◄── response
//!                              │
//!                            store
//! ```
//!
//! This crate does not decode responses, does not retry, and knows no agent.
//!
//! [`ModelBridge`]: windlass_agents::bridge::ModelBridge

mod account_slots;
mod admission;
mod bridge;
mod clock_time;
mod credentials;
mod forward;
mod limit_answer;
mod limited_accounts;
mod listener;
mod meter;
mod metered_body;
mod own_call;
mod policy;
mod prices;
mod recording;
mod request_facts;
mod route;

pub use bridge::Bridge;
pub use meter::MeterSettings;
pub use policy::CallPolicy;
pub use prices::{ModelPrices, PriceTable};
pub use recording::CallRecorder;
