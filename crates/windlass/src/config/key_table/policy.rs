//! Keys of what agents may ask their models for.

use super::{KeySpec, settings};
use crate::config::value_type::*;

settings! {
    /// What model calls may ask for. A call that asks for more is refused.
    #[derive(Default)]
    pub struct PolicySettings at "policy." {
        /// Models that may be called; all by default. `*` stands for any part of a name, as in `claude-*`.
        models: Option<Vec<String>> as TextList;
        /// Maximum length of an answer, in tokens. A call that does not limit its answer is refused too.
        max_output_tokens: Option<u32> as Count<1, 10_000_000>;
        /// Whether models may use tools that the provider runs itself, such as web search and code execution.
        provider_tools: bool as Bool = "true";
        /// Whether known secrets are replaced in what is sent to a model. An agent that edits a file with a secret then
        /// writes the replacement.
        mask_secrets: bool as Bool = "false";
    }
}
