//! Pages of lists: `limit` and `cursor` in, `next_cursor` out.

use std::fmt::Display;

use serde_json::Value;

use crate::error::ApiError;

/// The page size if the client sets none.
const DEFAULT_LIMIT: u32 = 20;
/// The maximum page size.
pub(super) const MAX_LIMIT: u32 = 100;

/// Returns the page size for a requested one.
pub(super) fn limit(requested: Option<u32>) -> u32 {
    requested.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT)
}

/// Returns the id after which a page starts.
pub(super) fn parse_cursor<Id: From<i64>>(cursor: Option<&str>) -> Result<Option<Id>, ApiError> {
    let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else {
        return Ok(None);
    };
    let id = cursor.parse().ok().filter(|id: &i64| *id >= 0);
    id.map(|id| Some(id.into())).ok_or_else(|| {
        ApiError::bad_request("unknown cursor: use the next_cursor of the previous page")
    })
}

/// Cuts a list to its page, and returns the cursor of the next one, if there is one.
pub(super) fn cut<T, Id: Display>(
    items: &mut Vec<T>,
    limit: u32,
    id: impl Fn(&T) -> Id,
) -> Option<String> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if items.len() <= limit {
        return None;
    }
    items.truncate(limit);
    items.last().map(|item| id(item).to_string())
}

/// Adds the cursor of the next page to a reply's data.
pub(super) fn with_cursor(mut data: Value, next: Option<String>) -> Value {
    if let Some(next) = next {
        data["next_cursor"] = Value::String(next);
    }
    data
}
