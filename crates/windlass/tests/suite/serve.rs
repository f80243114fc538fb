//! `windlass serve` as a process: with its own workers, with workers in other processes, start and stop.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_scripted::{Script, ScriptedModel};

use super::cluster::Cluster;
use super::serve_harness::ServeProcess;
use super::task_harness::{INSTANT, TaskHarness};

#[test]
fn task_added_through_server_is_completed_proved_and_merged() {
    let harness = TaskHarness::new("test -f done.txt && echo '1 passed, 0 failed'", INSTANT);
    let serving = ServeProcess::start(&harness, &["--concurrency", "2"]);
    let health = serving.get("/health");
    assert_eq!(health["worker"]["concurrency"], 2, "{health}");
    assert_eq!(health["store"], json!({"kind": "sqlite", "ok": true}));
    let task = serving.post("/tasks", &json!({"title": "Do it"}));
    let path = format!("/tasks/{}", task["id"]);
    let done = serving.wait_until(&path, |task| task["status"] == "completed");
    assert_eq!(done["unverified"], false);
    let proof = serving.get(&format!("{path}/proof"));
    assert_eq!(proof["exit_code"], 0, "{proof}");
    let attempts = serving.get(&format!("{path}/attempts"));
    assert_eq!(attempts[0]["outcome"], "completed", "{attempts}");
    let diff = serving.get(&format!("{path}/diff"));
    assert_eq!(diff["files"][0]["path"], "done.txt", "{diff}");
    assert_eq!(diff["files"][0]["change"], "added", "{diff}");
    let traces = serving.get(&format!("{path}/traces"));
    assert_eq!(traces[0]["task_id"], task["id"], "{traces}");
    let merged = serving.post(&format!("{path}/merge"), &json!({}));
    assert_eq!(merged["status"], "merged", "{merged}");
    assert_eq!(harness.read("done.txt"), "done\n");
    let again = serving.post(&format!("{path}/merge"), &json!({}));
    assert_eq!(again["status"], "nothing", "{again}");
    let agents = serving.get("/agents");
    let names = |value: &Value| {
        value
            .as_array()
            .unwrap()
            .iter()
            .any(|agent| agent["name"] == "player")
    };
    assert!(names(&agents), "{agents}");
    let (code, _) = serving.terminate();
    assert_eq!(code, Some(0));
    assert_eq!(harness.processes(), Vec::<String>::new());
}

/// Checks that two server processes deliver the events of a worker process on the same store.
fn check_worker_events_on_two_servers(harness: &TaskHarness) {
    let serving = ServeProcess::start(harness, &["--no-worker"]);
    let other = ServeProcess::start(harness, &["--no-worker"]);
    assert_eq!(serving.get("/health")["worker"], Value::Null);
    let (mut here, mut there) = (serving.connect_ws(""), other.connect_ws(""));
    let before = here.next().unwrap()["last"].as_u64().unwrap();
    assert_eq!(there.next().unwrap()["type"], "hello");
    let task = serving.post("/tasks", &json!({"title": "Do it"}));
    let mut worker = harness.worker();
    // Both servers deliver the events of the worker process without a gap.
    for number in before + 1.. {
        let message = here.next().unwrap();
        assert_eq!(message["seq"], number);
        assert_eq!(there.next().unwrap(), message);
        if message["task_id"] == task["id"] && message["status"] == "completed" {
            break;
        }
    }
    let _ = worker.kill();
    let _ = worker.wait();
    assert_eq!(serving.terminate().0, Some(0));
    assert_eq!(here.next(), None, "the socket was closed");
    assert_eq!(other.terminate().0, Some(0));
}

#[test]
fn p14_events_from_another_process_are_delivered_on_sqlite() {
    check_worker_events_on_two_servers(&TaskHarness::new("test -f done.txt", INSTANT));
}

/// Checks that a permission request from a worker process can be decided through a server process.
fn check_approval_through_server(harness: &TaskHarness) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let script = Script::parse(INSTANT, "instant").unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let model = runtime
        .block_on(ScriptedModel::start(script, listen))
        .unwrap();
    let file = harness.path("named.toml");
    let mut config = std::fs::read_to_string(&file).unwrap();
    config.push_str(&format!(
        "[agents.careful]\nbackend = \"openai\"\nendpoint = \"{}/v1\"\nmodel = \"m\"\n\
         api_key_env = \"KEY\"\npermissions = \"ask\"\n",
        model.url()
    ));
    std::fs::write(&file, config).unwrap();
    let serving = ServeProcess::start(harness, &["--no-worker"]);
    let task = serving.post("/tasks", &json!({"title": "Do it", "agent": "careful"}));
    let mut worker = harness.worker();
    let is_not_empty = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    let requests = serving.wait_until("/approvals?open=true", is_not_empty);
    assert_eq!(requests[0]["attempt"]["task"], task["id"], "{requests}");
    let options = requests[0]["options"].as_array().unwrap();
    let allow = options.iter().find(|option| option["kind"] == "allow_once");
    let decision = json!({"option": allow.unwrap()["id"]});
    let path = format!("/approvals/{}/decision", requests[0]["id"]);
    let decided = serving.post(&path, &decision);
    assert_eq!(
        decided["decision"]["option"], decision["option"],
        "{decided}"
    );
    let path = format!("/tasks/{}", task["id"]);
    serving.wait_until(&path, |task| task["status"] == "completed");
    assert!(!has_open_approvals(&serving), "no request is open any more");
    let _ = worker.kill();
    let _ = worker.wait();
}

fn has_open_approvals(serving: &ServeProcess) -> bool {
    serving.get("/approvals?open=true") != json!([])
}

#[test]
fn approval_of_worker_is_decided_through_server_on_sqlite() {
    check_approval_through_server(&TaskHarness::new("test -f done.txt", INSTANT));
}

#[test]
fn p22_p27_token_is_private_and_reused() {
    let harness = TaskHarness::new("true", INSTANT);
    let first = ServeProcess::start(&harness, &["--no-worker"]);
    let file = harness.home().join(".local/state/windlass/server-token");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    let token = first.token.clone();
    let (code, printed) = first.terminate();
    assert_eq!(code, Some(0));
    assert!(
        !printed.contains(&token),
        "the token is not written to a pipe"
    );
    let second = ServeProcess::start(&harness, &["--no-worker"]);
    assert_eq!(second.token, token, "the token is reused at the next start");
    drop(second);
    let third = ServeProcess::start(&harness, &["--no-worker", "--new-token"]);
    assert_ne!(third.token, token);
    drop(third);

    let refused = |why: &str| {
        let run = harness.run(&["serve", "--listen", "127.0.0.1:0", "--no-worker"]);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(why), "{run:?}");
    };
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    refused("other users can read");
    std::fs::remove_file(&file).unwrap();
    std::fs::write(harness.path("planted"), "a".repeat(64)).unwrap();
    std::os::unix::fs::symlink(harness.path("planted"), &file).unwrap();
    refused("symbolic link");
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "short").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    refused("does not contain a valid token");
}

#[test]
fn p19_p22_logs_do_not_contain_the_token() {
    let harness = TaskHarness::new("true", INSTANT);
    let serving = ServeProcess::start(&harness, &["--no-worker", "-vvv"]);
    let token = serving.token.clone();
    serving.get("/health");
    let (status, _) = serving.request("GET", &format!("/api/v1/health?token={token}"), None);
    assert_eq!(status, 200, "a token in the query is ignored");
    let (status, _) = serving.request("POST", "/api/v1/session", Some(&json!({"token": token})));
    assert_eq!(status, 204);
    assert!(serving.connect_ws("").next().is_some());
    serving.request(
        "POST",
        "/api/v1/tasks",
        Some(&json!({"title": 1, "token": token})),
    );
    assert_eq!(serving.terminate().0, Some(0));
    let log = std::fs::read_to_string(harness.path("serve.log")).unwrap();
    assert!(
        log.contains("/api/v1/health"),
        "the request was logged: {log}"
    );
    assert!(!log.contains(&token), "{log}");
}

#[test]
fn agents_are_served_as_models_with_same_guard() {
    let harness = TaskHarness::new(
        "true",
        r#"{"turns": [{"or_more": true, "answer": [{"text": "Tea."}]}]}"#,
    );
    let serving = ServeProcess::start(&harness, &["--no-worker"]);
    let (status, models) = serving.request("GET", "/v1/models", None);
    assert_eq!(status, 200, "{models}");
    let listed = models["data"].as_array().unwrap();
    assert!(
        listed.iter().any(|model| model["id"] == "player"),
        "{models}"
    );
    let body =
        json!({"model": "player", "messages": [{"role": "user", "content": "What do you sell?"}]});
    let (status, answer) = serving.request("POST", "/v1/chat/completions", Some(&body));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["choices"][0]["message"]["content"], "Tea.",
        "{answer}"
    );
    let traces = serving.wait_until("/traces", |traces| *traces != json!([]));
    assert_eq!(traces[0]["agent"], "player", "{traces}");
    let (status, unknown) = serving.request("GET", "/v1/models/plaier", None);
    assert_eq!(status, 404, "{unknown}");
    let (status, unknown) = serving.request("POST", "/v1/audio/speech", Some(&json!({})));
    assert_eq!(status, 404, "{unknown}");
    assert_eq!(unknown["error"]["code"], "unknown_endpoint", "{unknown}");
    assert_eq!(serving.terminate().0, Some(0));
    assert_eq!(harness.processes(), Vec::<String>::new());
}

#[test]
fn listen_errors_are_one_sentence() {
    let harness = TaskHarness::new("true", INSTANT);
    let serving = ServeProcess::start(&harness, &["--no-worker"]);
    let taken = harness.run(&["serve", "--no-worker", "--listen", &serving.addr]);
    assert_eq!(taken.code, 2, "{taken:?}");
    assert!(taken.stderr.contains("is already in use"), "{taken:?}");
    let open = harness.run(&["serve", "--no-worker", "--listen", "0.0.0.0:0"]);
    assert_eq!(open.code, 2, "{open:?}");
    assert!(open.stderr.contains("--insecure-listen"), "{open:?}");
}

/// A script with a very long delay.
const SLOW: &str = r#"{"turns": [
  {"or_more": true, "answer": [{"wait_ms": 600000}, {"text": "Done."}]}
]}"#;

#[test]
fn p7_stop_releases_running_task() {
    let harness = TaskHarness::new("true", SLOW);
    let serving = ServeProcess::start(&harness, &[]);
    serving.post("/tasks", &json!({"title": "Wait"}));
    serving.wait_until("/tasks/1", |task| task["status"] == "in_progress");
    let (code, _) = serving.terminate();
    assert_eq!(code, Some(0));
    let shown = harness.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], "pending", "{shown}");
    assert_eq!(harness.processes(), Vec::<String>::new());
}

/// Returns the working directories of requests, of every server of this harness.
fn request_dirs(harness: &TaskHarness) -> Vec<std::path::PathBuf> {
    let requests = harness.home().join(".local/state/windlass/requests");
    let entries = |dir: std::path::PathBuf| std::fs::read_dir(dir).into_iter().flatten();
    let servers = entries(requests).flatten().map(|server| server.path());
    let dirs = servers.flat_map(entries).flatten();
    dirs.map(|dir| dir.path()).collect()
}

#[test]
fn p5_p27_directories_of_killed_server_are_removed_and_live_ones_kept() {
    let slow =
        r#"{"turns": [{"or_more": true, "answer": [{"text": "So far"}, {"wait_ms": 600000}]}]}"#;
    let harness = TaskHarness::new("true", slow);
    let body =
        json!({"model": "player", "messages": [{"role": "user", "content": "Hi!"}]}).to_string();
    let start_request = |serving: &ServeProcess, wanted: usize| {
        let mut stream = std::net::TcpStream::connect(&serving.addr).unwrap();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
            serving.addr,
            serving.token,
            body.len()
        );
        std::io::Write::write_all(&mut stream, (head + &body).as_bytes()).unwrap();
        while request_dirs(&harness).len() < wanted {
            std::thread::yield_now();
        }
        stream
    };
    let mut killed = ServeProcess::start(&harness, &["--no-worker"]);
    let _first = start_request(&killed, 1);
    let live = ServeProcess::start(&harness, &["--no-worker"]);
    let _second = start_request(&live, 2);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert_eq!(
        request_dirs(&harness).len(),
        2,
        "the directory of the killed server is still there"
    );

    let next = ServeProcess::start(&harness, &["--no-worker"]);
    assert_eq!(
        request_dirs(&harness).len(),
        1,
        "the live server's request was removed, or the killed server's was not"
    );
    assert_eq!(next.terminate().0, Some(0));
    assert_eq!(live.terminate().0, Some(0));
    let requests = harness.home().join(".local/state/windlass/requests");
    assert_eq!(std::fs::read_dir(requests).unwrap().count(), 0);
}

mod real_postgresql {
    use super::*;

    #[test]
    fn p14_events_from_another_process_are_delivered_on_postgresql() {
        let cluster = Cluster::start("serve-worker");
        let harness = TaskHarness::new("true", INSTANT);
        harness.configure(&cluster.url(), "test -f done.txt");
        check_worker_events_on_two_servers(&harness);
    }

    #[test]
    fn approval_of_worker_is_decided_through_server_on_postgresql() {
        let cluster = Cluster::start("serve-approval");
        let harness = TaskHarness::new("true", INSTANT);
        harness.configure(&cluster.url(), "test -f done.txt");
        check_approval_through_server(&harness);
    }

    #[test]
    fn p14_subscriber_keeps_its_position_after_postgresql_restart() {
        let cluster = Cluster::start("serve-restart");
        let harness = TaskHarness::new("true", INSTANT);
        harness.configure(&cluster.url(), "true");
        let serving = ServeProcess::start(&harness, &["--no-worker"]);
        let mut events = serving.connect_ws("");
        let last = events.next().unwrap()["last"].as_u64().unwrap();
        cluster.restart();
        // Until the database is back, the server answers 503 and keeps running.
        loop {
            let (status, health) = serving.request("GET", "/api/v1/health", None);
            assert!([200, 503].contains(&status), "{health}");
            if status == 200 {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut added = serving.request("POST", "/api/v1/tasks", Some(&json!({"title": "Do it"})));
        while added.0 == 503 {
            added = serving.request("POST", "/api/v1/tasks", Some(&json!({"title": "Do it"})));
        }
        assert_eq!(added.0, 201, "{}", added.1);
        let message = events.find(|message| message["seq"].is_u64()).unwrap();
        assert_eq!(message["seq"], last + 1);
        assert_eq!(serving.terminate().0, Some(0));
    }
}
