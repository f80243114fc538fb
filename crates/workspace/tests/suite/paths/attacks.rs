//! The attack list for file changes: each fails closed, and nothing outside is touched.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use windlass_workspace::paths::{PathError, Root};

use super::Ground;

/// Tries every deed on a path.
fn deeds(root: &Root, path: &str) -> Vec<(&'static str, PathError)> {
    let mut errors = vec![("write", root.write(path, b"evil").map(drop))];
    errors.push(("read", root.read(path, 1 << 20).map(drop)));
    errors.push(("list", root.list(path, 10).map(drop)));
    errors.push(("look", root.metadata(path).map(drop)));
    errors.push(("delete", root.delete(path)));
    errors.push(("mode", root.set_executable(path, true)));
    errors.push(("rename from", root.rename(path, "stolen")));
    root.write("own", b"own").unwrap();
    errors.push(("rename to", root.rename("own", path)));
    errors
        .into_iter()
        .map(|(deed, result)| (deed, result.expect_err(&format!("{deed} {path}"))))
        .collect()
}

#[test]
fn p17_steps_up_absolute_paths_and_windows_forms_escape() {
    let ground = Ground::new();
    ground.put("a/file", "x");
    let absolute = ground.outside("secret").display().to_string();
    for path in [
        "../outside/secret",
        "a/../../outside/secret",
        "./../outside/secret",
        "a/./../../outside/secret",
        "../inside/a/file",
        absolute.as_str(),
        "/etc/passwd",
        "//etc/passwd",
        "C:\\Windows\\x",
        "C:x",
        "\\\\server\\share\\x",
        "..\\outside\\secret",
    ] {
        for (deed, error) in deeds(&ground.root, path) {
            assert!(error.is_escape(), "{deed} {path}: {error}");
            assert_eq!(error.to_string(), "path escapes sandbox");
        }
    }
    ground.assert_untouched();
}

#[test]
fn p17_links_that_lead_out_escape() {
    let ground = Ground::new();
    let absolute = ground.outside("").display().to_string();
    ground.link("../outside", "up");
    ground.link(&absolute, "away");
    ground.link("up", "twice");
    ground.link("../outside/secret", "file");
    ground.link("../outside/new", "Makefile");
    ground.link("/proc/self/cwd", "magic");
    for path in [
        "up/secret",
        "away/secret",
        "twice/secret",
        "up/new/deep",
        "magic/Cargo.toml",
    ] {
        for (deed, error) in deeds(&ground.root, path) {
            assert!(error.is_escape(), "{deed} {path}: {error}");
        }
    }
    for path in ["file", "Makefile"] {
        assert!(
            ground.root.write(path, b"evil").unwrap_err().is_escape(),
            "{path}"
        );
        assert!(
            ground.root.read(path, 10).unwrap_err().is_escape(),
            "{path}"
        );
        assert!(
            ground
                .root
                .set_executable(path, true)
                .unwrap_err()
                .is_escape()
        );
        // The link itself lies inside, so it may go.
        ground.root.delete(path).unwrap();
    }
    ground.assert_untouched();
}

#[test]
fn p17_a_hard_link_is_replaced_and_never_written_through() {
    let ground = Ground::new();
    std::fs::hard_link(ground.outside("secret"), ground.inside("linked")).unwrap();
    assert!(ground.root.set_executable("linked", true).is_err());
    ground.root.write("linked", b"evil").unwrap();
    assert_eq!(ground.text("linked"), "evil");
    assert_eq!(ground.inside("linked").metadata().unwrap().nlink(), 1);
    ground.assert_untouched();
    ground.assert_tidy(".");
}

#[test]
fn p17_pipes_sockets_and_devices_are_not_opened() {
    let ground = Ground::new();
    let mode = Mode::from_raw_mode(0o666);
    mknodat(CWD, ground.inside("pipe"), FileType::Fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(ground.inside("socket")).unwrap();
    let mut special = vec!["pipe", "socket"];
    // Only root can make a device.
    let device = rustix::fs::makedev(1, 5);
    if mknodat(
        CWD,
        ground.inside("device"),
        FileType::CharacterDevice,
        mode,
        device,
    )
    .is_ok()
    {
        special.push("device");
    }
    for path in special {
        for (deed, error) in [
            ("read", ground.root.read(path, 10).map(drop).unwrap_err()),
            (
                "write",
                ground.root.write(path, b"evil").map(drop).unwrap_err(),
            ),
            ("delete", ground.root.delete(path).unwrap_err()),
            ("rename", ground.root.rename(path, "new").unwrap_err()),
            ("mode", ground.root.set_executable(path, true).unwrap_err()),
        ] {
            let said = error.to_string();
            assert!(
                said.contains("not a file") || said.contains("refused"),
                "{deed} {path}: {said}"
            );
        }
    }
    assert!(
        ground
            .inside("pipe")
            .metadata()
            .unwrap()
            .file_type()
            .is_fifo()
    );
    // A folder's place cannot be taken by a file, nor a file's by a folder.
    ground.put("folder/file", "x");
    assert!(ground.root.write("folder", b"evil").is_err());
    assert!(ground.root.write("folder/file/deeper", b"evil").is_err());
    assert!(ground.root.delete("folder").is_err());
    ground.assert_tidy(".");
}

#[test]
fn p17_git_and_its_twins_are_not_written() {
    let ground = Ground::new();
    ground.put(".git/config", "kept");
    ground.put("sub/.git/config", "kept");
    ground.link(".git", "link");
    ground.link("sub/.git/config", "settings");
    for path in [
        ".git",
        ".git/config",
        ".git/hooks/pre-commit",
        ".GIT/hooks/pre-commit",
        "./.git/config",
        "sub/../.git/config",
        "link/config",
        "link/hooks/post-checkout",
        "settings",
        "sub/.git/config",
        "new/.git/hooks/x",
        ".git./config",
        ".g\u{200d}it/config",
        "git~1/config",
        ".envrc",
        ".vscode/settings.json",
        "sub/../.envrc",
        ".claude/settings.json",
    ] {
        let error = ground.root.write(path, b"evil").unwrap_err();
        assert!(
            matches!(error, PathError::Refused { .. }),
            "{path}: {error}"
        );
        ground.put("own", "own");
        assert!(ground.root.rename("own", path).is_err(), "{path}");
    }
    for path in [".git/config", "link/config"] {
        assert!(ground.root.delete(path).is_err(), "{path}");
        assert!(ground.root.rename(path, "stolen").is_err(), "{path}");
        assert_eq!(ground.root.read(path, 10).unwrap(), b"kept");
    }
    assert!(!ground.inside(".git/hooks").exists() && !ground.inside("new/.git").exists());
    assert_eq!(ground.text("sub/.git/config"), "kept");
    for path in [".gitignore", ".github/workflows/ci.yml", "sub/.envrc"] {
        ground.root.write(path, b"fine").unwrap();
    }
}

#[test]
fn p17_names_that_no_file_can_have_are_refused() {
    let ground = Ground::new();
    let (part, whole) = ("x".repeat(256), "x/".repeat(2047) + "xx");
    for path in ["", "a\0b", "a\nb", "a\u{1b}[31m", &part, &whole, "a\\b"] {
        let error = ground.root.write(path, b"evil").unwrap_err();
        assert!(
            matches!(error, PathError::Refused { .. }),
            "{path:?}: {error}"
        );
    }
    // Hard to type, but names all the same.
    for path in [
        "-rf",
        "--help",
        "a b",
        "a.",
        "é",
        "ab:c",
        "*",
        "$(x)",
        &"x".repeat(255),
    ] {
        ground
            .root
            .write(path, b"fine")
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(ground.root.read(path, 10).unwrap(), b"fine");
    }
    for path in ["a/", "a/.", "a/..", ".", "..", "./"] {
        assert!(ground.root.write(path, b"evil").is_err(), "{path}");
    }
}

#[test]
fn p17_links_in_a_circle_end() {
    let ground = Ground::new();
    ground.link("b", "a");
    ground.link("a", "b");
    for (deed, error) in [
        ("read", ground.root.read("a", 1).unwrap_err()),
        ("write", ground.root.write("a", b"").unwrap_err()),
        ("write", ground.root.write("a/b", b"").unwrap_err()),
    ] {
        assert!(
            matches!(error, PathError::Refused { .. }),
            "{deed}: {error}"
        );
    }
}

/// A terabyte that takes no room on the disk must take none in memory.
#[test]
fn p12_a_sparse_file_is_not_read() {
    let ground = Ground::new();
    let file = std::fs::File::create(ground.inside("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = ground.root.read("sparse", 1 << 20).unwrap_err();
    assert!(matches!(error, PathError::TooLarge { .. }));
    // And one that says it is empty is read no further than asked.
    let root = Root::open("/proc/self".as_ref()).unwrap();
    assert!(matches!(
        root.read("maps", 10).unwrap_err(),
        PathError::TooLarge { .. }
    ));
}

#[test]
fn p17_the_folder_that_was_opened_stays_the_root() {
    let ground = Ground::new();
    ground.put("file", "ours");
    std::fs::rename(ground.inside(""), ground.outside("../moved")).unwrap();
    std::os::unix::fs::symlink(ground.outside(""), ground.root.path()).unwrap();
    assert_eq!(ground.root.read("file", 10).unwrap(), b"ours");
    ground.root.write("secret", b"inside").unwrap();
    ground.assert_untouched();
}
