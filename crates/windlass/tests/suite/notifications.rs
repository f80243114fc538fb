//! Notifications: a receiver that fails, a worker that is killed, a desktop and a command.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::task_harness::{INSTANT, TaskHarness};

const SECRET: &str = "a-shared-secret-for-webhooks";

/// A request that a webhook got.
struct Request {
    headers: Vec<(String, String)>,
    body: String,
}

impl Request {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map_or("", |(_, value)| value)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Starts a receiver that answers the first requests with these codes, and then with 204.
fn receiver(codes: &'static [u16]) -> (String, mpsc::Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::sync_channel(100);
    std::thread::spawn(move || {
        let mut codes = codes.iter();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let mut headers = Vec::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let Some((name, value)) = line.trim_end().split_once(": ") else {
                    break;
                };
                headers.push((name.to_ascii_lowercase(), value.to_owned()));
            }
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length: usize = length.unwrap().1.parse().unwrap();
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let code = codes.next().copied().unwrap_or(204);
            let _ = write!(
                stream,
                "HTTP/1.1 {code} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            let body = String::from_utf8(body).unwrap();
            if sender.send(Request { headers, body }).is_err() {
                return;
            }
        }
    });
    (url, requests)
}

/// HMAC of RFC 2104 with SHA-256, written down independently of the program.
fn hmac(key: &[u8], message: &[u8]) -> String {
    let mut inner = vec![0x36_u8; 64];
    let mut outer = vec![0x5c_u8; 64];
    for (at, byte) in key.iter().enumerate() {
        inner[at] ^= byte;
        outer[at] ^= byte;
    }
    inner.extend(message);
    outer.extend(Sha256::digest(&inner));
    let digest = Sha256::digest(&outer);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn configure(harness: &TaskHarness, lines: &str) {
    let file = harness.path("named.toml");
    let mut config = std::fs::read_to_string(&file).unwrap();
    config.push_str(lines);
    std::fs::write(&file, config).unwrap();
}

/// Starts a worker with the secret in its environment.
fn worker(harness: &TaskHarness) -> std::process::Child {
    let mut worker = harness.child(&["worker"]);
    worker
        .env("HOOK_SECRET", SECRET)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    worker.spawn().unwrap()
}

#[test]
fn webhook_that_fails_twice_gets_one_signed_notification_after_a_kill() {
    let (url, requests) = receiver(&[503, 500]);
    let harness = TaskHarness::new("false", INSTANT);
    configure(
        &harness,
        &format!("[notify]\nwebhook = {url:?}\nsecret_env = \"HOOK_SECRET\"\n"),
    );
    harness.json(&["task", "add", "Do it", "--attempts", "1", "--json"]);
    let wait = Duration::from_secs(120);
    let mut first = worker(&harness);
    let refused = requests.recv_timeout(wait).unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    let mut second = worker(&harness);
    let again = requests.recv_timeout(wait).unwrap();
    let accepted = requests.recv_timeout(wait).unwrap();
    for request in [&refused, &again, &accepted] {
        let timestamp = request.header("x-windlass-timestamp");
        let signed = format!("{timestamp}.{}", request.body);
        let expected = format!("sha256={}", hmac(SECRET.as_bytes(), signed.as_bytes()));
        assert_eq!(request.header("x-windlass-signature"), expected);
        assert_eq!(
            request.header("x-windlass-id"),
            refused.header("x-windlass-id"),
            "a repeated request can be recognized"
        );
    }
    let body = accepted.json();
    assert_eq!(body["event"], "needs_person", "{body}");
    assert_eq!(body["task"]["id"], 1);
    assert!(body["text"].as_str().unwrap().contains("task 1"), "{body}");
    // Nothing more comes for the same cause, and the result is stored.
    assert!(requests.recv_timeout(Duration::from_secs(8)).is_err());
    second.kill().unwrap();
    second.wait().unwrap();
    let listed = harness.json(&["notify", "list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed[0]["state"], "sent");
    assert_eq!(listed[0]["tries"], 3);
}

#[test]
fn desktop_and_command_are_told_once_and_nothing_by_default() {
    let harness = TaskHarness::new("false", INSTANT);
    let program = harness.path("bin/notify-send");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(
        &program,
        "#!/bin/sh\nfor word in \"$@\"; do echo \"$word\"; done >> \"$HOME/shown\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        harness.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let run = |args: &[&str]| {
        let mut command = harness.command();
        super::cli_harness::Run::of(command.env("PATH", &path).args(args))
    };
    // By default nothing is sent.
    harness.json(&["task", "add", "Quiet", "--attempts", "1", "--json"]);
    run(&["worker", "--once"]);
    assert!(!harness.home().join("shown").exists());

    configure(
        &harness,
        "[notify]\ndesktop = true\ncommand = [\"sh\", \"-c\", \"cat >> $HOME/told; echo >> $HOME/told\"]\n",
    );
    let tested = run(&["notify", "test"]);
    assert_eq!(
        tested.stdout, "desktop: sent\ncommand: sent\n",
        "{}",
        tested.stderr
    );
    std::fs::remove_file(harness.home().join("shown")).unwrap();
    std::fs::remove_file(harness.home().join("told")).unwrap();

    let title = "Loud <b>\u{1b}[31m & more";
    harness.json(&["task", "add", title, "--attempts", "1", "--json"]);
    run(&["worker", "--once"]);
    run(&["worker", "--once"]);
    let shown = std::fs::read_to_string(harness.home().join("shown")).unwrap();
    assert_eq!(shown.matches("--app-name=Windlass").count(), 1, "{shown}");
    assert!(
        shown.contains("task 2 has a question: Loud &lt;b&gt;"),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let told = std::fs::read_to_string(harness.home().join("told")).unwrap();
    let told: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["task"]["title"], title);
}

#[test]
fn secret_that_is_not_set_is_an_error() {
    let harness = TaskHarness::new("true", INSTANT);
    configure(
        &harness,
        "[notify]\nwebhook = \"http://127.0.0.1:9/x\"\nsecret_env = \"HOOK_SECRET\"\n",
    );
    let run = harness.run(&["notify", "test"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("HOOK_SECRET is not set"),
        "{}",
        run.stderr
    );
    let shown = harness.run(&["config"]);
    assert!(!shown.stdout.contains("127.0.0.1:9"), "{}", shown.stdout);
}

/// The address that a redirect names may be that of another receiver.
#[test]
fn webhook_that_redirects_is_not_followed() {
    let (other, requests) = receiver(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/key-in-the-path", listener.local_addr().unwrap());
    let redirecting = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        let answer = format!("HTTP/1.1 307 x\r\nlocation: {other}\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let harness = TaskHarness::new("true", INSTANT);
    configure(&harness, &format!("[notify]\nwebhook = {url:?}\n"));
    let run = harness.run(&["notify", "test"]);
    redirecting.join().unwrap();
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(
        said.contains("307") && !said.contains("key-in-the-path"),
        "{said}"
    );
    assert!(requests.try_recv().is_err());
}
