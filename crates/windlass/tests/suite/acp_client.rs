//! A client of `windlass acp` that speaks JSON-RPC lines itself, so that tests can also send what no SDK would.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::task_harness::TaskHarness;

/// Far more than any message needs on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A running `windlass acp`, and what it has sent.
pub(crate) struct AcpClient {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    requests: u64,
    /// The notifications so far.
    pub(crate) updates: Vec<Value>,
    /// The permission requests so far.
    pub(crate) permissions: Vec<Value>,
    /// The kind of the option with which permission requests are answered; `None` leaves them open.
    pub(crate) answer: Option<&'static str>,
}

/// The response to a prompt, and the updates before it.
pub(crate) struct Turn {
    pub(crate) response: Value,
    pub(crate) updates: Vec<Value>,
}

impl AcpClient {
    /// Starts the program in the project of the harness, and initializes the connection.
    pub(crate) fn start(harness: &TaskHarness, args: &[&str]) -> Self {
        Self::start_with_path(harness, &own_path(), args)
    }

    /// Starts the program with this `PATH`, and initializes the connection.
    pub(crate) fn start_with_path(harness: &TaskHarness, path: &str, args: &[&str]) -> Self {
        let mut client = Self::spawn(harness, path, args);
        let response = client.call(
            "initialize",
            json!({ "protocolVersion": 1, "clientCapabilities": {} }),
        );
        assert_eq!(response["result"]["protocolVersion"], 1, "{response}");
        client
    }

    /// Starts the program without initializing the connection.
    pub(crate) fn start_raw(harness: &TaskHarness, args: &[&str]) -> Self {
        Self::spawn(harness, &own_path(), args)
    }

    fn spawn(harness: &TaskHarness, path: &str, args: &[&str]) -> Self {
        let mut child = harness
            .child(&["acp"])
            .env("PATH", path)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (sender, messages) = sync_channel(1024);
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // A line that is not JSON fails the test as such.
                let message = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            messages,
            requests: 0,
            updates: Vec::new(),
            permissions: Vec::new(),
            answer: None,
        }
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
        stdin.flush().unwrap();
    }

    /// Sends a request, and returns its ID.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        self.send_line(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
        );
        id
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send_line(
            &json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string(),
        );
    }

    /// Waits for the response to this request.
    #[track_caller]
    pub(crate) fn response(&mut self, id: u64) -> Value {
        self.read_until(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Waits for a message. Handles those before it.
    #[track_caller]
    pub(crate) fn read_until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.messages.recv_timeout(TIMEOUT);
            assert!(
                message.is_ok(),
                "no such message; before it: {:#?}",
                self.updates
            );
            let message = message.unwrap();
            assert_eq!(message["jsonrpc"], "2.0", "not a message: {message}");
            self.handle(&message);
            if is_wanted(&message) {
                return message;
            }
        }
    }

    fn handle(&mut self, message: &Value) {
        match message["method"].as_str() {
            Some("session/update") => self.updates.push(message["params"].clone()),
            Some("session/request_permission") => {
                self.permissions.push(message["params"].clone());
                if let Some(kind) = self.answer {
                    let options = message["params"]["options"].as_array().unwrap();
                    let option = options
                        .iter()
                        .find(|option| option["kind"] == kind)
                        .unwrap();
                    let outcome = json!({ "outcome": "selected", "optionId": option["optionId"] });
                    let result = json!({ "outcome": outcome });
                    self.send_line(
                        &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
                            .to_string(),
                    );
                }
            }
            _ => {}
        }
    }

    /// Sends a request, and waits for its response.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.response(id)
    }

    /// Creates a session in this directory, and returns its ID.
    #[track_caller]
    pub(crate) fn new_session(&mut self, cwd: &Path) -> String {
        let response = self.call("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
        let id = response["result"]["sessionId"].as_str();
        assert!(id.is_some(), "{response}");
        id.unwrap().to_owned()
    }

    /// Sends a prompt without waiting for its end.
    pub(crate) fn start_prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.request(
            "session/prompt",
            json!({ "sessionId": session, "prompt": prompt }),
        )
    }

    /// Sends a prompt, and waits for its end.
    #[track_caller]
    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> Turn {
        let before = self.updates.len();
        let id = self.start_prompt(session, text);
        let response = self.response(id);
        Turn {
            response,
            updates: self.updates[before..].to_vec(),
        }
    }

    /// Waits for an update of this kind.
    #[track_caller]
    pub(crate) fn wait_update(&mut self, kind: &str) -> Value {
        self.read_until(|message| message["params"]["update"]["sessionUpdate"] == kind)
    }

    pub(crate) fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", json!({ "sessionId": session }));
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes stdin, and waits for the end of the program.
    pub(crate) fn finish(mut self) -> Option<i32> {
        self.stdin = None;
        self.child.wait().unwrap().code()
    }
}

impl Drop for AcpClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Turn {
    /// Returns the updates of this kind.
    pub(crate) fn of_kind(&self, kind: &str) -> Vec<&Value> {
        let updates = self.updates.iter().map(|update| &update["update"]);
        updates
            .filter(|update| update["sessionUpdate"] == kind)
            .collect()
    }

    /// Returns the text of the answer.
    pub(crate) fn text(&self) -> String {
        let chunks = self.of_kind("agent_message_chunk").into_iter();
        chunks
            .filter_map(|chunk| chunk["content"]["text"].as_str())
            .collect()
    }
}

fn own_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

/// Waits until no process of the harness is left.
#[track_caller]
pub(crate) fn assert_no_process(harness: &TaskHarness) {
    wait_until("no process is left", || harness.processes().is_empty());
}

/// Waits until this is true.
#[track_caller]
pub(crate) fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let mut tries = 0..400;
    while !is_true() {
        assert!(tries.next().is_some(), "it did not happen that {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
