//! The list of attacks on file changes: each fails closed, and nothing outside is touched.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use windlass_workspace::paths::{PathError, Root};

use super::TestDirs;

/// Tries every operation on a path.
fn try_all(root: &Root, path: &str) -> Vec<(&'static str, PathError)> {
    let mut errors = vec![("write", root.write(path, b"evil").map(drop))];
    errors.push(("read", root.read(path, 1 << 20).map(drop)));
    errors.push(("list", root.list(path, 10).map(drop)));
    errors.push(("metadata", root.metadata(path).map(drop)));
    errors.push(("delete", root.delete(path)));
    errors.push(("mode", root.set_executable(path, true)));
    errors.push(("rename from", root.rename(path, "stolen")));
    root.write("own", b"own").unwrap();
    errors.push(("rename to", root.rename("own", path)));
    errors
        .into_iter()
        .map(|(operation, result)| (operation, result.expect_err(&format!("{operation} {path}"))))
        .collect()
}

#[test]
fn p17_parent_absolute_and_windows_paths_are_escapes() {
    let dirs = TestDirs::new();
    dirs.put("a/file", "x");
    let absolute = dirs.outside("secret").display().to_string();
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
        for (operation, error) in try_all(&dirs.root, path) {
            assert!(error.is_escape(), "{operation} {path}: {error}");
            assert_eq!(error.to_string(), "path escapes sandbox");
        }
    }
    dirs.assert_untouched();
}

#[test]
fn p17_links_that_lead_out_are_escapes() {
    let dirs = TestDirs::new();
    let absolute = dirs.outside("").display().to_string();
    dirs.link("../outside", "up");
    dirs.link(&absolute, "away");
    dirs.link("up", "twice");
    dirs.link("../outside/secret", "file");
    dirs.link("../outside/new", "Makefile");
    dirs.link("/proc/self/cwd", "magic");
    for path in [
        "up/secret",
        "away/secret",
        "twice/secret",
        "up/new/deep",
        "magic/Cargo.toml",
    ] {
        for (operation, error) in try_all(&dirs.root, path) {
            assert!(error.is_escape(), "{operation} {path}: {error}");
        }
    }
    for path in ["file", "Makefile"] {
        assert!(
            dirs.root.write(path, b"evil").unwrap_err().is_escape(),
            "{path}"
        );
        assert!(dirs.root.read(path, 10).unwrap_err().is_escape(), "{path}");
        assert!(
            dirs.root
                .set_executable(path, true)
                .unwrap_err()
                .is_escape()
        );
        // The link itself is inside, so it may be deleted.
        dirs.root.delete(path).unwrap();
    }
    dirs.assert_untouched();
}

#[test]
fn p17_hard_link_is_replaced_and_never_written_through() {
    let dirs = TestDirs::new();
    std::fs::hard_link(dirs.outside("secret"), dirs.inside("linked")).unwrap();
    assert!(dirs.root.set_executable("linked", true).is_err());
    dirs.root.write("linked", b"evil").unwrap();
    assert_eq!(dirs.text("linked"), "evil");
    assert_eq!(dirs.inside("linked").metadata().unwrap().nlink(), 1);
    dirs.assert_untouched();
    dirs.assert_no_temp_files(".");
}

#[test]
fn p17_pipes_sockets_and_devices_are_not_opened() {
    let dirs = TestDirs::new();
    let mode = Mode::from_raw_mode(0o666);
    mknodat(CWD, dirs.inside("pipe"), FileType::Fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(dirs.inside("socket")).unwrap();
    let mut special = vec!["pipe", "socket"];
    // Only root can create a device.
    let device = rustix::fs::makedev(1, 5);
    if mknodat(
        CWD,
        dirs.inside("device"),
        FileType::CharacterDevice,
        mode,
        device,
    )
    .is_ok()
    {
        special.push("device");
    }
    for path in special {
        for (operation, error) in [
            ("read", dirs.root.read(path, 10).map(drop).unwrap_err()),
            (
                "write",
                dirs.root.write(path, b"evil").map(drop).unwrap_err(),
            ),
            ("delete", dirs.root.delete(path).unwrap_err()),
            ("rename", dirs.root.rename(path, "new").unwrap_err()),
            ("mode", dirs.root.set_executable(path, true).unwrap_err()),
        ] {
            let message = error.to_string();
            assert!(
                message.contains("not a file") || message.contains("refused"),
                "{operation} {path}: {message}"
            );
        }
    }
    assert!(
        dirs.inside("pipe")
            .metadata()
            .unwrap()
            .file_type()
            .is_fifo()
    );
    // A file cannot replace a directory, nor a directory a file.
    dirs.put("folder/file", "x");
    assert!(dirs.root.write("folder", b"evil").is_err());
    assert!(dirs.root.write("folder/file/deeper", b"evil").is_err());
    assert!(dirs.root.delete("folder").is_err());
    dirs.assert_no_temp_files(".");
}

#[test]
fn p17_git_directories_and_lookalikes_are_not_written() {
    let dirs = TestDirs::new();
    dirs.put(".git/config", "original");
    dirs.put("sub/.git/config", "original");
    dirs.link(".git", "link");
    dirs.link("sub/.git/config", "settings");
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
        let error = dirs.root.write(path, b"evil").unwrap_err();
        assert!(
            matches!(error, PathError::Refused { .. }),
            "{path}: {error}"
        );
        dirs.put("own", "own");
        assert!(dirs.root.rename("own", path).is_err(), "{path}");
    }
    for path in [".git/config", "link/config"] {
        assert!(dirs.root.delete(path).is_err(), "{path}");
        assert!(dirs.root.rename(path, "stolen").is_err(), "{path}");
        assert_eq!(dirs.root.read(path, 10).unwrap(), b"original");
    }
    assert!(!dirs.inside(".git/hooks").exists() && !dirs.inside("new/.git").exists());
    assert_eq!(dirs.text("sub/.git/config"), "original");
    for path in [".gitignore", ".github/workflows/ci.yml", "sub/.envrc"] {
        dirs.root.write(path, b"fine").unwrap();
    }
}

#[test]
fn p17_invalid_names_are_rejected() {
    let dirs = TestDirs::new();
    let (part, whole) = ("x".repeat(256), "x/".repeat(2047) + "xx");
    for path in ["", "a\0b", "a\nb", "a\u{1b}[31m", &part, &whole, "a\\b"] {
        let error = dirs.root.write(path, b"evil").unwrap_err();
        assert!(
            matches!(error, PathError::Refused { .. }),
            "{path:?}: {error}"
        );
    }
    // Unusual but valid names.
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
        dirs.root
            .write(path, b"fine")
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(dirs.root.read(path, 10).unwrap(), b"fine");
    }
    for path in ["a/", "a/.", "a/..", ".", "..", "./"] {
        assert!(dirs.root.write(path, b"evil").is_err(), "{path}");
    }
}

#[test]
fn p17_link_loops_are_rejected() {
    let dirs = TestDirs::new();
    dirs.link("b", "a");
    dirs.link("a", "b");
    for (operation, error) in [
        ("read", dirs.root.read("a", 1).unwrap_err()),
        ("write", dirs.root.write("a", b"").unwrap_err()),
        ("write", dirs.root.write("a/b", b"").unwrap_err()),
    ] {
        assert!(
            matches!(error, PathError::Refused { .. }),
            "{operation}: {error}"
        );
    }
}

/// A sparse terabyte needs no space on disk and must need none in memory.
#[test]
fn p12_sparse_file_is_not_read() {
    let dirs = TestDirs::new();
    let file = std::fs::File::create(dirs.inside("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = dirs.root.read("sparse", 1 << 20).unwrap_err();
    assert!(matches!(error, PathError::TooLarge { .. }));
    // A file with size zero is read no further than the limit.
    let root = Root::open("/proc/self".as_ref()).unwrap();
    assert!(matches!(
        root.read("maps", 10).unwrap_err(),
        PathError::TooLarge { .. }
    ));
}

#[test]
fn p17_replaced_directory_does_not_change_the_root() {
    let dirs = TestDirs::new();
    dirs.put("file", "ours");
    std::fs::rename(dirs.inside(""), dirs.outside("../moved")).unwrap();
    std::os::unix::fs::symlink(dirs.outside(""), dirs.root.path()).unwrap();
    assert_eq!(dirs.root.read("file", 10).unwrap(), b"ours");
    dirs.root.write("secret", b"inside").unwrap();
    dirs.assert_untouched();
}
