//! Limits of a scripted model.

use windlass_core::limits::PROMPT_BYTES;

/// The maximum request size: the maximum prompt size, and the same again for JSON escaping.
pub const BODY_BYTES: usize = 2 * PROMPT_BYTES;
