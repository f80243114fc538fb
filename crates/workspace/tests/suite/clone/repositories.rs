//! Repositories of every kind: each works, or is rejected with one clear sentence.

use windlass_tasks::{Project, Workspace};

use super::harness::{BRANCH, Harness, attempt, git_in, publish};

async fn open_error(harness: &Harness, root: std::path::PathBuf) -> String {
    let project = Project {
        root,
        ..harness.project()
    };
    let error = harness
        .clones()
        .await
        .open(&project, attempt(1), None)
        .await
        .unwrap_err();
    assert!(
        harness.clone_names().is_empty(),
        "{:?}",
        harness.clone_names()
    );
    error.to_string()
}

#[tokio::test]
async fn unusable_repositories_are_rejected_with_reason() {
    let harness = Harness::new();
    let empty = harness.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let error = open_error(&harness, harness.root().join("src")).await;
    assert!(error.contains("is inside the repository"), "{error}");
    let error = open_error(&harness, harness.path("missing")).await;
    assert!(error.contains("No such file"), "{error}");
    git_in(&empty, &harness.path("home"), &["init", "-q"]);
    let error = open_error(&harness, empty.clone()).await;
    assert!(error.contains("has no commits"), "{error}");
    std::fs::remove_dir_all(empty.join(".git")).unwrap();
    std::fs::write(empty.join(".git"), "gitdir: ../nowhere\n").unwrap();
    let error = open_error(&harness, empty).await;
    assert!(error.contains("git worktree repair"), "{error}");
}

#[tokio::test]
async fn detached_head_worktree_and_bare_repository_work() {
    let harness = Harness::new();
    harness.git(&["checkout", "-q", "--detach"]);
    let home = harness.path("home");
    let (tree, bare) = (harness.path("tree"), harness.path("bare.git"));
    harness.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        tree.to_str().unwrap(),
    ]);
    harness.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let clones = harness.clones().await;
    for (number, root) in [(1, harness.root()), (2, tree), (3, bare)] {
        let project = Project {
            root: root.clone(),
            ..harness.project()
        };
        let clone = clones.open(&project, attempt(number), None).await.unwrap();
        let commit = publish(&*clone, number, &format!("text {number}\n")).await;
        assert_eq!(git_in(&root, &home, &["rev-parse", BRANCH]), commit.id);
        clone.close().await.unwrap();
    }
    let error = clones
        .merge(&harness.path("bare.git"), BRANCH)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("has no work tree"), "{error}");
}

#[tokio::test]
async fn sha256_shallow_and_borrowing_repositories_work() {
    let harness = Harness::new();
    harness.write("notes.txt", "second\n");
    harness.commit("second");
    let home = harness.path("home");
    let new = harness.path("sha256");
    std::fs::create_dir(&new).unwrap();
    git_in(&new, &home, &["init", "-q", "--object-format=sha256"]);
    super::harness::put(&new, "notes.txt", "x\n");
    git_in(&new, &home, &["add", "-A"]);
    git_in(&new, &home, &["commit", "-q", "-m", "first"]);
    let url = format!("file://{}", harness.root().display());
    let (shallow, borrower) = (harness.path("shallow"), harness.path("borrower"));
    harness.git(&["clone", "-q", "--depth=1", &url, shallow.to_str().unwrap()]);
    harness.git(&["clone", "-q", "--shared", ".", borrower.to_str().unwrap()]);
    let clones = harness.clones().await;
    for (number, root) in [(1, new), (2, shallow), (3, borrower)] {
        let project = Project {
            root: root.clone(),
            ..harness.project()
        };
        let clone = clones.open(&project, attempt(number), None).await.unwrap();
        let commit = publish(&*clone, number, "changed\n").await;
        assert_eq!(git_in(&root, &home, &["rev-parse", BRANCH]), commit.id);
        git_in(&root, &home, &["fsck"]);
    }
}

/// Adds a submodule with one file, which has itself a submodule.
fn add_submodule(harness: &Harness) {
    let home = harness.path("home");
    let local = "protocol.file.allow=always";
    for (name, inner) in [("deep", None), ("other", Some("deep"))] {
        let dir = harness.path(name);
        std::fs::create_dir(&dir).unwrap();
        git_in(&dir, &home, &["init", "-q"]);
        super::harness::put(&dir, "file", &format!("{name}\n"));
        if let Some(inner) = inner {
            let url = harness.path(inner);
            let url = url.to_str().unwrap();
            git_in(
                &dir,
                &home,
                &["-c", local, "submodule", "add", "-q", url, "inner"],
            );
        }
        git_in(&dir, &home, &["add", "-A"]);
        git_in(&dir, &home, &["commit", "-q", "-m", name]);
    }
    let url = harness.path("other");
    let url = url.to_str().unwrap();
    harness.git(&["-c", local, "submodule", "add", "-q", url, "module"]);
    harness.git(&[
        "-c",
        local,
        "submodule",
        "update",
        "-q",
        "--init",
        "--recursive",
    ]);
    harness.commit("module");
}

#[tokio::test]
async fn submodules_are_there_and_are_not_changed() {
    let harness = Harness::new();
    let home = harness.path("home");
    add_submodule(&harness);
    let clone = harness.open().await;
    let module = clone.root().join("module");
    let read = |name: &str| std::fs::read_to_string(module.join(name)).unwrap();
    assert_eq!(
        (read("file"), read("inner/file")),
        ("other\n".into(), "deep\n".into())
    );
    assert!(clone.change().await.unwrap().is_empty());
    super::harness::put(&module, "file", "agent\n");
    super::harness::put(&module, "new", "agent\n");
    assert!(clone.change().await.unwrap().is_empty());
    git_in(&module, &home, &["init", "-q"]);
    git_in(&module, &home, &["add", "-A"]);
    git_in(&module, &home, &["commit", "-q", "-m", "agent"]);
    assert!(clone.change().await.unwrap().is_empty());
}

#[tokio::test]
async fn submodule_that_is_not_checked_out_is_refused() {
    let harness = Harness::new();
    add_submodule(&harness);
    harness.git(&["submodule", "deinit", "-q", "-f", "module"]);
    let error = open_error(&harness, harness.root()).await;
    assert!(error.contains("`module` is not checked out"), "{error}");
    assert!(error.contains("git submodule update --init"), "{error}");
}

/// The content of a file, and its pointer as LFS stores it.
const LFS_CONTENT: &str = "large content\n";
const LFS_ID: &str = "c1f8d3e2b6a7045911f2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718";

#[tokio::test]
async fn lfs_files_come_from_the_users_objects_and_are_not_changed() {
    let harness = Harness::new();
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{LFS_ID}\nsize {}\n",
        LFS_CONTENT.len()
    );
    harness.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    harness.write("data/a.bin", &pointer);
    harness.commit("pointer");

    // As the user's checkout, which has pointers as well.
    let clone = harness.open().await;
    let read = |clone: &dyn windlass_tasks::WorkingCopy| {
        std::fs::read_to_string(clone.root().join("data/a.bin")).unwrap()
    };
    assert_eq!(read(&*clone), pointer);
    clone.close().await.unwrap();

    harness.write("data/a.bin", LFS_CONTENT);
    let error = open_error(&harness, harness.root()).await;
    assert!(
        error.contains("`data/a.bin` is stored with Git LFS"),
        "{error}"
    );
    assert!(error.contains("git lfs pull"), "{error}");

    let object = format!("lfs/objects/{}/{}/{LFS_ID}", &LFS_ID[..2], &LFS_ID[2..4]);
    super::harness::put(&harness.root().join(".git"), &object, LFS_CONTENT);
    let clone = harness.open().await;
    assert_eq!(read(&*clone), LFS_CONTENT);
    assert!(clone.change().await.unwrap().is_empty());
    super::harness::put(clone.root(), "data/a.bin", "agent\n");
    super::harness::put(clone.root(), "notes.txt", "agent\n");
    assert_eq!(clone.change().await.unwrap().files, ["notes.txt"]);
}

#[tokio::test]
async fn sparse_checkout_has_all_files_and_partial_clone_is_refused() {
    let harness = Harness::new();
    let home = harness.path("home");
    harness.git(&["config", "uploadpack.allowFilter", "true"]);
    harness.git(&["sparse-checkout", "set", "--no-cone", "/notes.txt"]);
    assert!(!harness.root().join("src").exists());
    let clone = harness.open().await;
    assert!(clone.root().join("src/lib.txt").is_file());
    assert!(clone.change().await.unwrap().is_empty());
    clone.close().await.unwrap();

    let (url, partial) = (
        format!("file://{}", harness.root().display()),
        harness.path("partial"),
    );
    let target = partial.to_str().unwrap();
    harness.git(&[
        "clone",
        "-q",
        "--filter=blob:none",
        "--sparse",
        &url,
        target,
    ]);
    git_in(
        &partial,
        &home,
        &["sparse-checkout", "set", "--no-cone", "/notes.txt"],
    );
    let error = open_error(&harness, partial).await;
    assert!(
        error.contains("is a partial clone without all files"),
        "{error}"
    );
}

#[tokio::test]
async fn p16_copied_files_are_in_the_clone_and_never_in_a_change() {
    let harness = Harness::new();
    harness.write(".env.test", "KEY=secret\n");
    harness.write("config/local.toml", "a = 1\n");
    let files = [".env.test", "config/local.toml"]
        .map(str::to_owned)
        .to_vec();
    let clones = harness.clones().await.with_copied_files(files);
    let clone = clones
        .open(&harness.project(), attempt(1), None)
        .await
        .unwrap();
    let text = std::fs::read_to_string(clone.root().join(".env.test")).unwrap();
    assert_eq!(text, "KEY=secret\n");
    assert!(clone.change().await.unwrap().is_empty());
    // Ignore files could include it.
    super::harness::put(
        clone.root(),
        ".gitignore",
        "!.env.test\n!config/\n!config/*\n",
    );
    super::harness::put(clone.root(), "config/.gitignore", "!local.toml\n");
    super::harness::put(clone.root(), ".env.test", "KEY=changed\n");
    let change = clone.change().await.unwrap();
    assert_eq!(change.files, [".gitignore", "config/.gitignore"]);
    assert!(!change.diff.contains("KEY"), "{}", change.diff);
}

#[tokio::test]
async fn p16_only_small_untracked_files_of_the_repository_are_copied() {
    let harness = Harness::new();
    std::os::unix::fs::symlink(harness.path("home"), harness.root().join("out")).unwrap();
    super::harness::put(&harness.path("home"), "secret", "x");
    harness.write("large", &"x".repeat((1 << 20) + 1));
    harness.write("dir/file", "x");
    harness.git(&["add", "dir", "notes.txt"]);
    for (file, reason) in [
        ("../home/secret", "cannot be copied"),
        ("/etc/passwd", "cannot be copied"),
        ("out/secret", "cannot be copied"),
        ("large", "cannot be copied"),
        ("missing", "cannot be copied"),
        ("src", "cannot be copied"),
        ("notes.txt", "git tracks"),
        (".git/config", "belongs to git"),
        ("", "cannot be copied"),
    ] {
        let clones = harness
            .clones()
            .await
            .with_copied_files(vec![file.to_owned()]);
        let error = clones
            .open(&harness.project(), attempt(1), None)
            .await
            .unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(reason) && error.contains("workspace.copy"),
            "{file}: {error}"
        );
        assert!(harness.clone_names().is_empty());
    }
}
