//! Leaves the working directory as it should be: without what the sandbox put there, with what must
//! not have changed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use crate::orders::Leftover;

/// How long to wait for another sandbox that is clearing the same folder up.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(5);

/// The working directory as something shared: ghosts in it are removed by the last sandbox to
/// leave.
///
/// Removing a folder takes away what others have mounted over it, and with that their protection.
pub(super) struct Workplace(Option<File>);

impl Workplace {
    /// Announces that the ghosts in this folder are in use.
    pub(super) fn enter(path: Option<&OsStr>) -> Self {
        let folder = path.and_then(|path| File::open(path).ok());
        if let Some(folder) = &folder {
            // A lock that somebody holds for good must not keep us from starting.
            let waits = (0..ATTEMPTS).take_while(|_| folder.try_lock_shared().is_err());
            waits.for_each(|_| std::thread::sleep(PAUSE));
        }
        Self(folder)
    }

    /// Whether nobody else is here; if so, nobody enters before we have gone.
    fn is_last(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(|folder| folder.try_lock().is_ok())
    }

    /// Puts everything right; what cannot be put right stays, there is nobody left to tell.
    pub(super) fn clear(&self, leftovers: &[Leftover]) {
        let is_last = self.is_last();
        for leftover in leftovers {
            let _ = match leftover {
                Leftover::Ghost(path) if is_last => fs::remove_dir(path),
                Leftover::Ghost(_) => Ok(()),
                Leftover::Forbidden(path) => remove(Path::new(path)),
                Leftover::Link(path, target) => restore(Path::new(path), Path::new(target)),
                Leftover::Scratch(path) => fs::remove_dir_all(path),
            };
        }
    }
}

fn restore(path: &Path, target: &Path) -> io::Result<()> {
    if path.read_link().is_ok_and(|found| found == target) {
        return Ok(());
    }
    // It may also have been removed.
    let _ = remove(path);
    symlink(target, path)
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p16_a_replaced_link_leads_where_it_led_before() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        let order = [Leftover::Link(link.clone().into(), "target".into())];
        for replace in [
            |path: &Path| fs::create_dir(path),
            |path: &Path| fs::write(path, "evil"),
            |_: &Path| Ok(()),
        ] {
            let _ = fs::remove_file(&link);
            replace(&link).unwrap();
            Workplace::enter(None).clear(&order);
            assert_eq!(link.read_link().unwrap(), Path::new("target"));
        }
    }
}
