//! A proof as a file that others can check: an in-toto statement, signed with an ssh key.

mod envelope;
mod signature;
mod statement;

pub(crate) use envelope::{DsseEnvelope, MAX_BYTES, ProofFile};
pub(crate) use signature::{SignatureCheck, default_key, sign, verify};
pub(crate) use statement::Statement;
