//! The query.

use schemars::JsonSchema;
use serde::Deserialize;

/// The arguments of `search`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct SearchQuery {
    /// A regular expression in ripgrep's syntax.
    pub pattern: String,
    /// The directory or file to search, relative to the workspace. Omit it to search the whole workspace.
    pub path: Option<String>,
    /// Search only files that match this glob, such as `*.rs` or `src/**/*.ts`; with a leading `!`, all
    /// others.
    pub glob: Option<String>,
    /// Treat the pattern as literal text.
    #[serde(default)]
    pub literal: bool,
    /// Ignore case.
    #[serde(default)]
    pub ignore_case: bool,
    /// The number of context lines before and after each match, at most 20.
    #[serde(default)]
    pub context: u32,
    /// The maximum number of matches. Omit it for 200.
    pub max_matches: Option<u32>,
}
