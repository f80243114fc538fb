//! Paths where agents store their state. No agent can see the paths of another, because they contain API keys.

/// Returns every directory and file of a known agent in the user's home.
pub(crate) fn all_state_paths() -> impl Iterator<Item = &'static str> {
    let cli_paths = crate::cli::PROFILES.iter().flat_map(|profile| {
        let home = &profile.home;
        home.files.iter().copied().chain([home.dir])
    });
    cli_paths.chain(acp_paths())
}

#[cfg(feature = "acp")]
fn acp_paths() -> impl Iterator<Item = &'static str> {
    crate::acp::PRESETS.iter().flat_map(|preset| {
        let home = &preset.home;
        home.files.iter().chain(home.dirs).copied()
    })
}

#[cfg(not(feature = "acp"))]
fn acp_paths() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}
