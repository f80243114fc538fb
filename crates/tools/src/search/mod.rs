//! `search`: finds lines that match a pattern, in files that git does not ignore.

mod find;
mod ignore_rules;
mod query;
mod tool;
mod walk;

pub use find::search;
pub use query::SearchQuery;

pub(crate) use tool::Search;
