//! Leaves the working directory as it should be: without what the sandbox put there, with what must not have changed.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::orders::Leftover;

/// Puts everything right; what cannot be put right stays, there is nobody left to tell.
pub(super) fn clear(leftovers: &[Leftover]) {
    for leftover in leftovers {
        let _ = match leftover {
            Leftover::Ghost(path) => fs::remove_dir(path),
            Leftover::Forbidden(path) => remove(Path::new(path)),
            Leftover::Link(path, target) => restore(Path::new(path), Path::new(target)),
            Leftover::Scratch(path) => fs::remove_dir_all(path),
        };
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
            clear(&order);
            assert_eq!(link.read_link().unwrap(), Path::new("target"));
        }
    }
}
