//! Where agents keep what is theirs: no agent sees the places of another, which hold keys.

/// Every folder and file of an agent in the user's home.
pub(crate) fn all_state_paths() -> impl Iterator<Item = &'static str> {
    let programs = crate::cli::PROFILES.iter().flat_map(|profile| {
        let home = &profile.home;
        home.files.iter().copied().chain([home.folder])
    });
    programs.chain(presets())
}

#[cfg(feature = "acp")]
fn presets() -> impl Iterator<Item = &'static str> {
    crate::acp::PRESETS.iter().flat_map(|preset| {
        let home = &preset.home;
        home.files.iter().chain(home.folders).copied()
    })
}

#[cfg(not(feature = "acp"))]
fn presets() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}
