//! Files and symbols of a repository, ranked for a task.
