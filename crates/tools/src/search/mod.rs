//! `search`: lines that match a pattern, in the files that git would not ignore.

mod find;
mod ignored;
mod query;
mod walk;

pub use find::search;
pub use query::Query;

pub(crate) use query::Search;
