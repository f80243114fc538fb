//! A real Prometheus that scrapes a real server, and its own tool on our metrics and rules.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;
use windlass_core::{Clock, SystemClock};

use super::serve_harness::ServeProcess;
use super::task_harness::{INSTANT, TaskHarness};

/// Long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Runs Prometheus' own tool, which must find nothing wrong.
#[track_caller]
fn promtool(args: &[&str], input: &str) {
    let mut tool = assert_cmd::Command::new("promtool");
    let output = tool.args(args).write_stdin(input).output();
    let output = output.unwrap_or_else(|error| {
        unreachable!("promtool is missing, run scripts/setup --only prometheus: {error}")
    });
    assert!(output.status.success(), "{args:?}: {output:?}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr, "", "{args:?}");
}

/// A Prometheus process. It is killed when the value is dropped.
struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    #[expect(
        clippy::disallowed_methods,
        reason = "it runs until the test ends, so the test needs the child itself"
    )]
    fn start(harness: &TaskHarness, config: &str) -> Self {
        let file = harness.path("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let log = std::fs::File::create(harness.path("prometheus.log")).unwrap();
        let started = std::process::Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                harness.path("tsdb").display()
            ))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .current_dir(harness.home())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let child = started.unwrap_or_else(|error| {
            unreachable!("Prometheus is missing, run scripts/setup --only prometheus: {error}")
        });
        Self { child, port }
    }

    /// Asks its API, and returns `None` while it does not answer.
    fn get(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        serde_json::from_str(body).ok()
    }

    /// Waits until a query has this value.
    #[track_caller]
    fn wait_for(&self, query: &str, expected: &str) {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let clock = SystemClock::new();
        loop {
            let found = self.get(&format!("/api/v1/query?query={encoded}"));
            let result = found.as_ref().map(|found| &found["data"]["result"]);
            if result.is_some_and(|result| result[0]["value"][1] == expected) {
                return;
            }
            assert!(clock.elapsed() < LIMIT, "{query}: {found:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the configuration in docs/operations.md, for this server and token, with a short interval and our rules.
fn documented_config(serving: &ServeProcess, token: &Path) -> String {
    let docs = std::fs::read_to_string(repository().join("docs/operations.md")).unwrap();
    let block = docs.split("```yaml\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    for part in ["/etc/prometheus/windlass-token", "127.0.0.1:7420"] {
        assert!(block.contains(part), "{block}");
    }
    let block = block
        .replace(
            "/etc/prometheus/windlass-token",
            &token.display().to_string(),
        )
        .replace("127.0.0.1:7420", &serving.addr);
    let rules = repository().join("packaging/prometheus/windlass.rules.yml");
    format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [\"{}\"]\n{block}",
        rules.display()
    )
}

#[test]
#[ignore = "full: starts the real Prometheus"]
fn prometheus_scrapes_what_the_documentation_says() {
    let harness = TaskHarness::new("test -f done.txt", INSTANT);
    for _ in 0..2 {
        harness.json(&["task", "add", "Do it", "--json"]);
    }
    assert_eq!(harness.run(&["worker", "--once"]).code, 0);
    harness.json(&["task", "add", "Do it", "--json"]);
    let serving = ServeProcess::start(&harness, &["--no-worker"]);
    let created = harness.run(&["token", "create", "prometheus", "--scope", "read"]);
    assert_eq!(created.code, 0, "{created:?}");
    let token = harness.path("windlass-token");
    std::fs::write(&token, &created.stdout).unwrap();

    let prometheus = Prometheus::start(&harness, &documented_config(&serving, &token));
    for (query, expected) in [
        ("up{job=\"windlass\"}", "1"),
        ("windlass_store_up", "1"),
        ("windlass_tasks{status=\"completed\"}", "2"),
        ("windlass_tasks{status=\"pending\"}", "1"),
        ("windlass_tasks{status=\"failed\"}", "0"),
        ("windlass_attempts_total{result=\"completed\"}", "2"),
        ("windlass_attempts_total{result=\"lost\"}", "0"),
        ("sum(windlass_responses_total{status=\"5xx\"})", "0"),
        (
            "count(histogram_quantile(0.99, rate(windlass_request_seconds_bucket{kind=\"page\"}[30s])))",
            "1",
        ),
    ] {
        prometheus.wait_for(query, expected);
    }
    let rules = prometheus.get("/api/v1/rules").unwrap();
    let rules = rules["data"]["groups"][0]["rules"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(rules.len(), 9, "{rules:?}");
    let is_quiet = |rule: &Value| rule["health"] == "ok" && rule["state"] == "inactive";
    assert!(rules.iter().all(is_quiet), "{rules:?}");

    let (_, text) = serving.raw_request("GET", "/metrics", None);
    promtool(&["check", "metrics"], &text);
    assert_eq!(serving.terminate().0, Some(0));
    prometheus.wait_for("up{job=\"windlass\"}", "0");
}

#[test]
#[ignore = "full: starts Prometheus' own tool"]
fn each_rule_is_valid_and_fires_when_it_should() {
    let dir = repository().join("packaging/prometheus");
    let path = |name: &str| dir.join(name).display().to_string();
    promtool(&["check", "rules", &path("windlass.rules.yml")], "");
    promtool(&["test", "rules", &path("windlass.rules.test.yml")], "");
    // Each rule has a test in which it fires, and one in which it does not.
    let rules = std::fs::read_to_string(path("windlass.rules.yml")).unwrap();
    let tests = std::fs::read_to_string(path("windlass.rules.test.yml")).unwrap();
    let names: Vec<&str> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    assert_eq!(names.len(), 9);
    for name in names {
        assert!(
            tests.contains(&format!(
                "        alertname: {name}\n        exp_alerts:\n          - "
            )),
            "{name}"
        );
        assert!(
            tests.contains(&format!("alertname: {name}, exp_alerts: []")),
            "{name}"
        );
    }
}
