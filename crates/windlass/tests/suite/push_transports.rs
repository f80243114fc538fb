//! Pushing over git's real transports, on loopback: `git daemon`, `git http-backend` with a password, and ssh.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use super::cli_harness::Run;
use super::publishing::{Remote, executable};

/// `me:secret`.
const PASSWORD: &str = "Basic bWU6c2VjcmV0";

#[expect(
    clippy::disallowed_methods,
    reason = "a test that serves a repository needs the program itself"
)]
fn program(name: &str) -> std::process::Command {
    let mut command = std::process::Command::new(name);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null");
    command
}

/// A `git daemon` that accepts pushes.
struct Daemon(Child);

impl Daemon {
    /// Serves the repositories in a directory. Returns the port, too.
    fn start(root: &Path) -> (Self, u16) {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        // The program itself: git would start it as a process of its own.
        let programs = program("git").arg("--exec-path").output().unwrap().stdout;
        let programs = String::from_utf8(programs).unwrap();
        let child = program(&format!("{}/git-daemon", programs.trim()))
            .args(["--reuseaddr", "--export-all"])
            .args(["--enable=receive-pack", "--listen=127.0.0.1"])
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", root.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let daemon = Self(child);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            std::thread::sleep(Duration::from_millis(50));
        }
        (daemon, port)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves the repositories in a directory over HTTP with `git http-backend`, to clients with the password. Returns the
/// port.
fn serve_http(root: PathBuf) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, root) = (stream.unwrap(), root.clone());
            std::thread::spawn(move || answer(&stream, &root));
        }
    });
    port
}

/// Answers one request, and closes the connection.
fn answer(mut stream: &TcpStream, root: &Path) {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let header = |name: &str| {
        let mut rows = lines.iter().filter_map(|line| line.split_once(": "));
        let found = rows.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map_or(String::new(), |(_, value)| value.to_owned())
    };
    if header("authorization") != PASSWORD {
        let refused = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\n\
            Content-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = stream.write_all(refused.as_bytes());
        return;
    }
    let mut body = Vec::new();
    let length = header("content-length").parse().unwrap_or(0);
    (&mut reader).take(length).read_to_end(&mut body).unwrap();
    let mut first = lines[0].split(' ');
    let (method, target) = (first.next().unwrap(), first.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut child = program("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "me")
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", length.to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&body).unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    let status = match output.strip_prefix(b"Status: ") {
        Some(rest) => String::from_utf8_lossy(&rest[..3]).into_owned(),
        None => "200".to_owned(),
    };
    let head = format!("HTTP/1.1 {status} Reply\r\nConnection: close\r\n");
    let _ = stream.write_all(&[head.as_bytes(), &output].concat());
}

/// Sets the address of the remote.
fn point_at(remote: &Remote, url: &str) {
    remote.harness.git(&["remote", "set-url", "origin", url]);
}

#[track_caller]
fn push(remote: &Remote) {
    let pushed = remote.harness.run(&["task", "push", "1"]);
    assert_eq!(pushed.code, 0, "{}{}", pushed.stdout, pushed.stderr);
    assert_eq!(remote.there(), remote.here());
}

#[test]
fn branch_is_pushed_to_a_git_daemon_and_again_after_it_was_away() {
    let remote = Remote::new();
    let root = remote.bare.parent().unwrap();
    let (daemon, port) = Daemon::start(root);
    point_at(&remote, &format!("git://127.0.0.1:{port}/origin.git"));
    drop(daemon);
    let why = remote.fails();
    assert!(why.contains("cannot be reached"), "{why}");
    assert_eq!(remote.pushes()[0]["state"], "queued");
    let (_daemon, port) = Daemon::start(root);
    point_at(&remote, &format!("git://127.0.0.1:{port}/origin.git"));
    push(&remote);
}

#[test]
fn password_comes_from_the_users_credential_helper_only() {
    let remote = Remote::new();
    let port = serve_http(remote.bare.parent().unwrap().to_owned());
    let url = format!("http://127.0.0.1:{port}/origin.git");
    point_at(&remote, &url);
    let why = remote.fails();
    assert!(why.contains("credentials"), "{why}");
    assert_eq!(remote.pushes()[0]["state"], "failed");

    // A wrong password in the address is in no message and in no record.
    point_at(&remote, &url.replace("//", "//me:wrong-password@"));
    let why = remote.fails();
    assert!(!why.contains("wrong-password"), "{why}");
    let shown = remote.pushes().to_string();
    assert!(!shown.contains("wrong-password"), "{shown}");

    point_at(&remote, &url);
    let home = remote.harness.home();
    let store = home.join("passwords");
    std::fs::write(&store, format!("http://me:secret@127.0.0.1:{port}\n")).unwrap();
    let config = format!(
        "[credential]\n\thelper = \"store --file='{}'\"\n",
        store.display()
    );
    std::fs::write(home.join(".gitconfig"), config).unwrap();
    push(&remote);
}

/// A program in the place of ssh runs git's command on this machine, as a server would.
#[test]
fn ssh_is_used_without_prompts() {
    let remote = Remote::new();
    let bin = remote.harness.path("bin");
    let script = "#!/bin/sh\n\
        case \" $* \" in *' BatchMode=yes '*) ;; *) echo 'it may ask' >&2; exit 1;; esac\n\
        for last; do :; done\n\
        case $last in *-pack*) exec sh -c \"$last\";; esac\n";
    executable(&bin.join("ssh"), script);
    point_at(
        &remote,
        &format!("ssh://git@server.example{}", remote.bare.display()),
    );
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let run = |args: &[&str]| Run::of(remote.harness.command().env("PATH", &path).args(args));
    let pushed = run(&["task", "push", "1"]);
    assert_eq!(pushed.code, 0, "{}{}", pushed.stdout, pushed.stderr);
    assert_eq!(remote.there(), remote.here());

    executable(
        &bin.join("ssh"),
        "#!/bin/sh\necho 'git@server.example: Permission denied (publickey).' >&2; exit 255\n",
    );
    let refused = run(&["task", "push", "1"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("Permission denied"),
        "{}",
        refused.stderr
    );
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
}

/// A program that accepts the options of `glab mr create`, and no others.
#[test]
fn preset_of_glab_passes_what_glab_knows() {
    let remote = Remote::new();
    let bin = remote.harness.path("bin");
    let script = "#!/bin/sh\n\
        [ \"$1 $2\" = 'mr create' ] || exit 2; shift 2\n\
        for word; do case $word in\n\
        --source-branch=windlass/*|--target-branch=main|--yes) ;;\n\
        --title=*) echo \"$word\" > \"$HOME/title\";;\n\
        --description=*) echo \"$word\" > \"$HOME/description\";;\n\
        *) echo \"unknown flag: $word\" >&2; exit 2;;\n\
        esac; done\n\
        echo https://gitlab.example/merge_requests/3\n";
    executable(&bin.join("glab"), script);
    remote.configure("[publish]\ncommand = \"glab\"\n");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = remote.harness.command();
    let pushed = Run::of(command.env("PATH", &path).args(["task", "push", "1"]));
    assert_eq!(pushed.code, 0, "{}{}", pushed.stdout, pushed.stderr);
    let request = "https://gitlab.example/merge_requests/3";
    assert_eq!(remote.pushes()[0]["request"], request);
    let read = |name: &str| std::fs::read_to_string(remote.harness.home().join(name)).unwrap();
    assert_eq!(read("title"), "--title=Do it\n");
    assert!(read("description").contains("## Proof"));
}
