//! A real `windlass serve` process, and an HTTP and WebSocket client for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::task_harness::TaskHarness;

/// A server process. It is killed when the value is dropped.
pub(crate) struct ServeProcess {
    pub(crate) child: Child,
    pub(crate) addr: String,
    pub(crate) token: String,
    stdout: BufReader<ChildStdout>,
}

impl ServeProcess {
    /// Starts a server with this harness, and waits until it is ready.
    pub(crate) fn start(harness: &TaskHarness, flags: &[&str]) -> Self {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(harness.path("serve.log"))
            .unwrap();
        let mut child = harness
            .child(&["serve", "--listen", "127.0.0.1:0"])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with("ready at http"), "{line:?}");
        let addr = line.trim().rsplit('/').next().unwrap().to_owned();
        let file = harness.home().join(".local/state/windlass/server-token");
        let token = std::fs::read_to_string(file).unwrap();
        Self {
            child,
            addr,
            token,
            stdout,
        }
    }

    /// Sends a request, and returns status and body.
    pub(crate) fn request(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let (head, body) = self.raw_request(method, path, body);
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    /// Sends a request, and returns the response's head and body.
    pub(crate) fn raw_request(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (String, String) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let (addr, token) = (&self.addr, &self.token);
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(addr).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, value) = self.request("GET", &format!("/api/v1{path}"), None);
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let (status, value) = self.request("POST", &format!("/api/v1{path}"), Some(body));
        assert!([200, 201].contains(&status), "{path}: {status} {value}");
        value
    }

    /// Connects to the WebSocket.
    pub(crate) fn connect_ws(&self, query: &str) -> WsClient {
        let (addr, token) = (&self.addr, &self.token);
        let text = format!(
            "GET /api/v1/ws{query} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        let mut stream = TcpStream::connect(addr).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        assert!(line.contains("101"), "{line}");
        while line.trim() != "" {
            line.clear();
            stream.read_line(&mut line).unwrap();
        }
        WsClient { stream }
    }

    /// Polls a path until the response matches the condition.
    #[track_caller]
    pub(crate) fn wait_until(&self, path: &str, is_met: impl Fn(&Value) -> bool) -> Value {
        let mut attempts = 0;
        loop {
            let value = self.get(path);
            if is_met(&value) {
                return value;
            }
            attempts += 1;
            assert!(
                attempts < 1_200,
                "{path} did not reach the expected state: {value}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends SIGTERM, and returns the exit code and the remaining output.
    pub(crate) fn terminate(mut self) -> (Option<i32>, String) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A WebSocket client that reads messages.
pub(crate) struct WsClient {
    stream: BufReader<TcpStream>,
}

impl Iterator for WsClient {
    type Item = Value;

    /// Returns the next text message, or `None` once the server has closed the connection.
    fn next(&mut self) -> Option<Value> {
        loop {
            let mut head = [0; 2];
            self.stream.read_exact(&mut head).ok()?;
            let mut length = u64::from(head[1]);
            if length >= 126 {
                let mut long = [0; 8];
                let from = if length == 126 { 6 } else { 0 };
                self.stream.read_exact(&mut long[from..]).ok()?;
                length = u64::from_be_bytes(long);
            }
            let mut body = vec![0; usize::try_from(length).unwrap()];
            self.stream.read_exact(&mut body).ok()?;
            match head[0] & 15 {
                1 => return Some(serde_json::from_slice(&body).unwrap()),
                8 => return None,
                _ => {}
            }
        }
    }
}
