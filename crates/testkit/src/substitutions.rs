//! The substitutions of the local machine.

use windlass_cassette::{LocalPath, Substitutions};

/// Returns the current directory as workspace, the user's home, the temporary directory and this
/// program.
pub fn local_substitutions() -> Substitutions {
    let mut substitutions = Substitutions::new();
    if let Ok(dir) = std::env::current_dir() {
        substitutions = substitutions.workspace(dir);
    }
    if let Some(home) = std::env::home_dir() {
        substitutions = substitutions.home(home);
    }
    if let Ok(program) = std::env::current_exe() {
        substitutions = substitutions.path(LocalPath::Executable, program);
    }
    substitutions.path(LocalPath::Tmp, std::env::temp_dir())
}
