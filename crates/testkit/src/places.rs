//! The places of the machine that this runs on.

use windlass_core::cassette::{Place, Places};

/// The current folder as workspace, the user's home, the folder for temporary files and this program.
pub fn places_here() -> Places {
    let mut places = Places::new();
    if let Ok(folder) = std::env::current_dir() {
        places = places.workspace(folder);
    }
    if let Some(home) = std::env::home_dir() {
        places = places.home(home);
    }
    if let Ok(program) = std::env::current_exe() {
        places = places.at(Place::Executable, program);
    }
    places.at(Place::Tmp, std::env::temp_dir())
}
