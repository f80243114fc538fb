//! The kernel keyring of a process.

/// Gives this thread and the processes that it starts an empty session keyring.
///
/// The keys of the user's session would otherwise be visible in `/proc/keys`. An error is ignored:
/// the kernel has no keyrings, or it cannot store another one, and in both cases the system call
/// filter still denies all access to keys.
pub(crate) fn replace_session_keyring() {
    if let Err(error) = keyutils::Keyring::join_anonymous_session() {
        tracing::debug!(%error, "no private session keyring");
    }
}
