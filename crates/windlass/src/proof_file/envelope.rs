//! The file format of proofs: a statement, or a DSSE envelope with a statement and its signatures.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::statement::Statement;

/// The type of the payload.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// Maximum size of a proof file.
pub(crate) const MAX_BYTES: u64 = 16 << 20;

/// A signed statement (Dead Simple Signing Envelope, version 1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DsseEnvelope {
    payload_type: String,
    /// The statement's bytes, in base64.
    payload: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct EnvelopeSignature {
    /// The fingerprint of the key.
    keyid: String,
    /// An ssh signature (`ssh-keygen -Y sign`) over the payload and its type, in base64.
    sig: String,
}

impl DsseEnvelope {
    /// Creates an envelope without a signature.
    pub(crate) fn new(statement: &Statement) -> Result<Self, String> {
        let json = serde_json::to_vec(statement).map_err(|error| error.to_string())?;
        Ok(Self {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload: STANDARD.encode(json),
            signatures: Vec::new(),
        })
    }

    /// Returns the bytes to sign: the type and the payload, each with its length.
    pub(crate) fn signed_bytes(&self) -> Result<Vec<u8>, String> {
        let payload = self.payload_bytes()?;
        let kind = &self.payload_type;
        let mut bytes = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
        bytes.extend(payload);
        Ok(bytes)
    }

    /// Adds a signature by the key with this fingerprint.
    pub(crate) fn add_signature(&mut self, keyid: String, signature: &[u8]) {
        let sig = STANDARD.encode(signature);
        self.signatures.push(EnvelopeSignature { keyid, sig });
    }

    /// Returns the signatures.
    pub(crate) fn signatures(&self) -> Result<Vec<Vec<u8>>, String> {
        let decode = |signature: &EnvelopeSignature| {
            let bytes = STANDARD.decode(&signature.sig);
            bytes.map_err(|error| format!("a signature is not base64: {error}"))
        };
        self.signatures.iter().map(decode).collect()
    }

    fn payload_bytes(&self) -> Result<Vec<u8>, String> {
        let bytes = STANDARD.decode(&self.payload);
        bytes.map_err(|error| format!("the payload is not base64: {error}"))
    }
}

/// The content of a proof file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProofFile {
    pub(crate) statement: Statement,
    /// `None` if the file is a statement without an envelope.
    pub(crate) envelope: Option<DsseEnvelope>,
}

impl ProofFile {
    /// Parses a proof file.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let not_a_proof = |error: serde_json::Error| format!("not a proof file: {error}");
        let Ok(envelope) = serde_json::from_slice::<DsseEnvelope>(text) else {
            return Ok(Self {
                statement: serde_json::from_slice(text).map_err(not_a_proof)?,
                envelope: None,
            });
        };
        if envelope.payload_type != PAYLOAD_TYPE {
            return Err(format!(
                "not a proof file: its payload is {:?}",
                envelope.payload_type
            ));
        }
        let payload = envelope.payload_bytes()?;
        Ok(Self {
            statement: serde_json::from_slice(&payload).map_err(not_a_proof)?,
            envelope: Some(envelope),
        })
    }
}
