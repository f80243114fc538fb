//! The life of a task: claim, context, plan, edit, verify, correct, prove.
