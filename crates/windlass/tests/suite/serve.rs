//! `windlass serve` as a process: with its own workers, with workers elsewhere, and how it starts and stops.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_gateway::{Script, ScriptedModel};

use super::cluster::Cluster;
use super::serve_world::Serving;
use super::task_world::{INSTANT, TaskWorld};

#[test]
fn a_task_that_is_added_through_the_server_is_done_proved_and_merged() {
    let world = TaskWorld::new("test -f done.txt", INSTANT);
    let serving = Serving::start(&world, &["--concurrency", "2"]);
    let health = serving.get("/health");
    assert_eq!(health["worker"]["concurrency"], 2, "{health}");
    assert_eq!(health["store"], json!({"kind": "sqlite", "ok": true}));
    let task = serving.post("/tasks", &json!({"title": "Do it"}));
    let path = format!("/tasks/{}", task["id"]);
    let done = serving.until(&path, |task| task["status"] == "completed");
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
    assert_eq!(world.read("done.txt"), "done\n");
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
    assert_eq!(world.processes(), Vec::<String>::new());
}

/// A worker process here, a server process there, one store between them.
fn worker_and_server(world: &TaskWorld) {
    let serving = Serving::start(world, &["--no-worker"]);
    let other = Serving::start(world, &["--no-worker"]);
    assert_eq!(serving.get("/health")["worker"], Value::Null);
    let (mut here, mut there) = (serving.listen(""), other.listen(""));
    let before = here.next().unwrap()["last"].as_u64().unwrap();
    assert_eq!(there.next().unwrap()["type"], "hello");
    let task = serving.post("/tasks", &json!({"title": "Do it"}));
    let mut worker = world.worker();
    // What the worker tells in its own process is told by both servers, without a gap.
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
fn p14_a_worker_elsewhere_is_heard_on_sqlite() {
    worker_and_server(&TaskWorld::new("test -f done.txt", INSTANT));
}

/// A worker process asks whether its agent may; somebody decides through a server process.
fn asked_here_decided_there(world: &TaskWorld) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let script = Script::parse(INSTANT, "instant").unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let model = runtime
        .block_on(ScriptedModel::start(script, listen))
        .unwrap();
    let file = world.path("named.toml");
    let mut config = std::fs::read_to_string(&file).unwrap();
    config.push_str(&format!(
        "[agents.careful]\nbackend = \"openai\"\nendpoint = \"{}/v1\"\nmodel = \"m\"\n\
         api_key_env = \"KEY\"\npermissions = \"ask\"\n",
        model.url()
    ));
    std::fs::write(&file, config).unwrap();
    world.lease(30);
    let serving = Serving::start(world, &["--no-worker"]);
    let task = serving.post("/tasks", &json!({"title": "Do it", "agent": "careful"}));
    let mut worker = world.worker();
    let asked = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    let asked = serving.until("/approvals?open=true", asked);
    assert_eq!(asked[0]["attempt"]["task"], task["id"], "{asked}");
    let options = asked[0]["options"].as_array().unwrap();
    let allow = options.iter().find(|option| option["kind"] == "allow_once");
    let decision = json!({"option": allow.unwrap()["id"]});
    let path = format!("/approvals/{}/decision", asked[0]["id"]);
    let decided = serving.post(&path, &decision);
    assert_eq!(
        decided["decision"]["option"], decision["option"],
        "{decided}"
    );
    let path = format!("/tasks/{}", task["id"]);
    serving.until(&path, |task| task["status"] == "completed");
    assert!(!asked_again(&serving), "nothing waits any more");
    let _ = worker.kill();
    let _ = worker.wait();
}

fn asked_again(serving: &Serving) -> bool {
    serving.get("/approvals?open=true") != json!([])
}

#[test]
fn an_approval_asked_by_a_worker_is_decided_through_a_server_on_sqlite() {
    asked_here_decided_there(&TaskWorld::new("test -f done.txt", INSTANT));
}

#[test]
fn p22_p27_the_token_is_kept_for_its_owner_alone() {
    let world = TaskWorld::new("true", INSTANT);
    let first = Serving::start(&world, &["--no-worker"]);
    let file = world.home().join(".local/state/windlass/server-token");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    let token = first.token.clone();
    let (code, printed) = first.terminate();
    assert_eq!(code, Some(0));
    assert!(!printed.contains(&token), "no pipe is told the token");
    let second = Serving::start(&world, &["--no-worker"]);
    assert_eq!(second.token, token, "the same at the next start");
    drop(second);
    let third = Serving::start(&world, &["--no-worker", "--new-token"]);
    assert_ne!(third.token, token);
    drop(third);

    let refused = |why: &str| {
        let run = world.run(&["serve", "--listen", "127.0.0.1:0", "--no-worker"]);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(why), "{run:?}");
    };
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    refused("others can read");
    std::fs::remove_file(&file).unwrap();
    std::fs::write(world.path("planted"), "a".repeat(64)).unwrap();
    std::os::unix::fs::symlink(world.path("planted"), &file).unwrap();
    refused("symbolic link");
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "short").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    refused("holds no token");
}

#[test]
fn p19_p22_no_log_holds_the_token() {
    let world = TaskWorld::new("true", INSTANT);
    let serving = Serving::start(&world, &["--no-worker", "-vvv"]);
    let token = serving.token.clone();
    serving.get("/health");
    let (status, _) = serving.ask("GET", &format!("/api/v1/health?token={token}"), None);
    assert_eq!(status, 200, "the query says nothing");
    let (status, _) = serving.ask("POST", "/api/v1/session", Some(&json!({"token": token})));
    assert_eq!(status, 204);
    assert!(serving.listen("").next().is_some());
    serving.ask(
        "POST",
        "/api/v1/tasks",
        Some(&json!({"title": 1, "token": token})),
    );
    assert_eq!(serving.terminate().0, Some(0));
    let log = std::fs::read_to_string(world.path("serve.log")).unwrap();
    assert!(
        log.contains("/api/v1/health"),
        "it was logged at all: {log}"
    );
    assert!(!log.contains(&token), "{log}");
}

#[test]
fn agents_are_served_as_models_behind_the_same_guard() {
    let world = TaskWorld::new(
        "true",
        r#"{"turns": [{"or_more": true, "answer": [{"text": "Tea."}]}]}"#,
    );
    let serving = Serving::start(&world, &["--no-worker"]);
    let (status, models) = serving.ask("GET", "/v1/models", None);
    assert_eq!(status, 200, "{models}");
    let listed = models["data"].as_array().unwrap();
    assert!(
        listed.iter().any(|model| model["id"] == "player"),
        "{models}"
    );
    let asked =
        json!({"model": "player", "messages": [{"role": "user", "content": "What do you sell?"}]});
    let (status, answer) = serving.ask("POST", "/v1/chat/completions", Some(&asked));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["choices"][0]["message"]["content"], "Tea.",
        "{answer}"
    );
    let traces = serving.until("/traces", |traces| *traces != json!([]));
    assert_eq!(traces[0]["agent"], "player", "{traces}");
    let (status, unknown) = serving.ask("GET", "/v1/models/plaier", None);
    assert_eq!(status, 404, "{unknown}");
    assert_eq!(serving.terminate().0, Some(0));
    assert_eq!(world.processes(), Vec::<String>::new());
}

#[test]
fn what_cannot_be_served_is_said_in_a_sentence() {
    let world = TaskWorld::new("true", INSTANT);
    let serving = Serving::start(&world, &["--no-worker"]);
    let taken = world.run(&["serve", "--no-worker", "--listen", &serving.addr]);
    assert_eq!(taken.code, 2, "{taken:?}");
    assert!(taken.stderr.contains("is taken"), "{taken:?}");
    let open = world.run(&["serve", "--no-worker", "--listen", "0.0.0.0:0"]);
    assert_eq!(open.code, 2, "{open:?}");
    assert!(open.stderr.contains("--insecure-listen"), "{open:?}");
}

/// Answers only after a long while.
const SLOW: &str = r#"{"turns": [
  {"or_more": true, "answer": [{"wait_ms": 600000}, {"text": "Done."}]}
]}"#;

#[test]
fn p7_a_stop_gives_back_what_is_under_way() {
    let world = TaskWorld::new("true", SLOW);
    let serving = Serving::start(&world, &[]);
    serving.post("/tasks", &json!({"title": "Wait"}));
    serving.until("/tasks/1", |task| task["status"] == "in_progress");
    let (code, _) = serving.terminate();
    assert_eq!(code, Some(0));
    let shown = world.json(&["task", "show", "1", "--json"]);
    assert_eq!(shown["task"]["status"], "pending", "{shown}");
    assert_eq!(world.processes(), Vec::<String>::new());
}

/// The folders in which requests work, of every server of this world.
fn turns(world: &TaskWorld) -> Vec<std::path::PathBuf> {
    let requests = world.home().join(".local/state/windlass/requests");
    let inside = |folder: std::path::PathBuf| std::fs::read_dir(folder).into_iter().flatten();
    let servers = inside(requests).flatten().map(|server| server.path());
    let turns = servers.flat_map(inside).flatten();
    turns.map(|turn| turn.path()).collect()
}

#[test]
fn p5_p27_what_a_killed_server_left_is_swept_and_a_living_one_keeps_its_own() {
    let slow =
        r#"{"turns": [{"or_more": true, "answer": [{"text": "So far"}, {"wait_ms": 600000}]}]}"#;
    let world = TaskWorld::new("true", slow);
    let asked =
        json!({"model": "player", "messages": [{"role": "user", "content": "Hi!"}]}).to_string();
    let busy = |serving: &Serving, wanted: usize| {
        let mut stream = std::net::TcpStream::connect(&serving.addr).unwrap();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
            serving.addr,
            serving.token,
            asked.len()
        );
        std::io::Write::write_all(&mut stream, (head + &asked).as_bytes()).unwrap();
        while turns(&world).len() < wanted {
            std::thread::yield_now();
        }
        stream
    };
    let mut killed = Serving::start(&world, &["--no-worker"]);
    let _one = busy(&killed, 1);
    let living = Serving::start(&world, &["--no-worker"]);
    let _two = busy(&living, 2);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert_eq!(turns(&world).len(), 2, "nobody tidied up after it");

    let next = Serving::start(&world, &["--no-worker"]);
    assert_eq!(
        turns(&world).len(),
        1,
        "the living one's request was taken away, or the dead one's stayed"
    );
    assert_eq!(next.terminate().0, Some(0));
    assert_eq!(living.terminate().0, Some(0));
    let requests = world.home().join(".local/state/windlass/requests");
    assert_eq!(std::fs::read_dir(requests).unwrap().count(), 0);
}

#[test]
fn outside_a_repository_it_says_what_would_do() {
    let world = TaskWorld::new("true", INSTANT);
    // Any other folder, the temporary folder too, may be inside a repository.
    let mut command = world.command();
    command
        .current_dir("/")
        .args(["serve", "--listen", "127.0.0.1:0"])
        .timeout(Duration::from_secs(30));
    let refused = super::cli_world::Run::of(&mut command);
    assert_eq!(refused.code, 2, "{refused:?}");
    for words in [
        "not inside a git repository",
        "agents as models",
        "git init",
    ] {
        assert!(refused.stderr.contains(words), "{refused:?}");
    }
}

mod real_postgresql {
    use super::*;

    #[test]
    fn p14_a_worker_elsewhere_is_heard_on_postgresql() {
        let cluster = Cluster::start("serve-worker");
        let world = TaskWorld::new("true", INSTANT);
        world.configure(&cluster.url(), "test -f done.txt");
        worker_and_server(&world);
    }

    #[test]
    fn an_approval_asked_by_a_worker_is_decided_through_a_server_on_postgresql() {
        let cluster = Cluster::start("serve-approval");
        let world = TaskWorld::new("true", INSTANT);
        world.configure(&cluster.url(), "test -f done.txt");
        asked_here_decided_there(&world);
    }

    #[test]
    fn p14_a_postgresql_that_dies_and_comes_back_costs_no_reader_its_place() {
        let cluster = Cluster::start("serve-restart");
        let world = TaskWorld::new("true", INSTANT);
        world.configure(&cluster.url(), "true");
        let serving = Serving::start(&world, &["--no-worker"]);
        let mut heard = serving.listen("");
        let last = heard.next().unwrap()["last"].as_u64().unwrap();
        cluster.restart();
        // Until it is back, the server says so and goes on.
        loop {
            let (status, health) = serving.ask("GET", "/api/v1/health", None);
            assert!([200, 503].contains(&status), "{health}");
            if status == 200 {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut added = serving.ask("POST", "/api/v1/tasks", Some(&json!({"title": "Do it"})));
        while added.0 == 503 {
            added = serving.ask("POST", "/api/v1/tasks", Some(&json!({"title": "Do it"})));
        }
        assert_eq!(added.0, 201, "{}", added.1);
        let message = heard.find(|message| message["seq"].is_u64()).unwrap();
        assert_eq!(message["seq"], last + 1);
        assert_eq!(serving.terminate().0, Some(0));
    }
}
