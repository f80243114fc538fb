//! The places of the machine that this runs on.

use windlass_core::cassette::{LocalPath, Substitutions};

/// The current folder as workspace, the user's home, the folder for temporary files and this program.
pub fn local_substitutions() -> Substitutions {
    let mut places = Substitutions::new();
    if let Ok(folder) = std::env::current_dir() {
        places = places.workspace(folder);
    }
    if let Some(home) = std::env::home_dir() {
        places = places.home(home);
    }
    if let Ok(program) = std::env::current_exe() {
        places = places.path(LocalPath::Executable, program);
    }
    places.path(LocalPath::Tmp, std::env::temp_dir())
}
