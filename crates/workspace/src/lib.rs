//! A task's place to work: paths that cannot leave it, an own clone, the tests, the merge.

pub mod paths;
