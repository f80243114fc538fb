//! What a review must be like, whatever the state of its task.

use windlass_tasks::{
    AuthorKind, MAX_REVIEW_AUTHOR_BYTES, MAX_REVIEW_COMMENTS, MAX_REVIEW_QUOTE_BYTES,
    MAX_REVIEW_TEXT_BYTES, NewReview, ReviewComment, ReviewDecision, StoreError, StoreResult,
};

/// Rejects a review that is too large, empty, or not allowed for its author.
pub(crate) fn check(review: &NewReview) -> StoreResult<()> {
    let author = review.author.trim();
    if author.is_empty() {
        return refuse("the review has no author");
    }
    limit("the author's name", &review.author, MAX_REVIEW_AUTHOR_BYTES)?;
    limit(
        "the text of the review",
        &review.text,
        MAX_REVIEW_TEXT_BYTES,
    )?;
    let comments = review.comments.len();
    if comments > MAX_REVIEW_COMMENTS {
        return refuse(format!(
            "the review has {comments} comments; the limit is {MAX_REVIEW_COMMENTS}"
        ));
    }
    for comment in &review.comments {
        check_comment(comment)?;
    }
    if review.author_kind == AuthorKind::Agent && review.decision == ReviewDecision::Approve {
        return refuse("an agent cannot approve a change: a person does");
    }
    let is_empty = review.text.trim().is_empty() && comments == 0;
    if is_empty && review.decision != ReviewDecision::Approve {
        return refuse("the review is empty: write a comment or approve the change");
    }
    Ok(())
}

fn check_comment(comment: &ReviewComment) -> StoreResult<()> {
    if comment.path.is_empty() {
        return refuse("a comment has no path: write what is about the whole change as its text");
    }
    limit(
        "the path of a comment",
        &comment.path,
        MAX_REVIEW_QUOTE_BYTES,
    )?;
    if comment.line == Some(0) {
        return refuse(format!("{}: lines are counted from 1", comment.path));
    }
    if comment.text.trim().is_empty() {
        return refuse(format!("a comment on {} is empty", comment.path));
    }
    limit("a comment", &comment.text, MAX_REVIEW_TEXT_BYTES)?;
    limit(
        "a quoted line",
        comment.quote.as_deref().unwrap_or_default(),
        MAX_REVIEW_QUOTE_BYTES,
    )
}

fn limit(what: &str, text: &str, bytes: usize) -> StoreResult<()> {
    if text.len() > bytes {
        return refuse(format!(
            "{what} has {} bytes; the limit is {bytes}",
            text.len()
        ));
    }
    Ok(())
}

fn refuse<T>(why: impl Into<String>) -> StoreResult<T> {
    Err(StoreError::Refused(why.into()))
}
