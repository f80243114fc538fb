//! `windlass serve` with a certificate, and curl and Python as its clients.

use assert_cmd::Command;

use super::acp_client::wait_until;
use super::cli_harness::Run;
use super::serve_harness::ServeProcess;
use super::task_harness::{INSTANT, TaskHarness};
use super::tls_files::{make_certificate, run, start};

#[test]
fn p22_curl_and_python_reach_an_encrypted_server() {
    let harness = TaskHarness::new("true", INSTANT);
    make_certificate(&harness, "DNS:localhost");
    let serving = start(&harness, &[]);
    assert!(serving.addr.starts_with("localhost:"), "{}", serving.addr);
    let url = format!("https://{}/api/v1/health", serving.addr);
    let token = format!("Authorization: Bearer {}", serving.token);
    let trusting = ["-sS", "--cacert", "ca.pem", "-H", &token];
    for version in ["--tlsv1.2", "--tlsv1.3"] {
        let args = [&trusting[..], &[version, "--fail", &url]].concat();
        let health = run(&harness, "curl", &args);
        assert!(health.contains("\"status\""), "{health}");
    }
    let fails = |args: &[&str]| {
        let run = Run::of(
            Command::new("curl")
                .args(args)
                .current_dir(harness.path("")),
        );
        assert_ne!(run.code, 0, "{run:?}");
        run.stderr
    };
    // Older versions, and clients that do not know the issuer.
    fails(&[&trusting[..], &["--tls-max", "1.1", &url]].concat());
    let unknown = fails(&["-sS", &url]);
    assert!(unknown.contains("certificate"), "{unknown}");
    let plain = format!("http://{}/api/v1/health", serving.addr);
    let answer = run(&harness, "curl", &["-sS", &plain]);
    assert!(answer.contains("use an https:// address"), "{answer}");

    let script = "import json, ssl, sys, urllib.request as r\n\
        context = ssl.create_default_context(cafile='ca.pem')\n\
        request = r.Request(sys.argv[1], headers={'x-api-key': sys.argv[2]})\n\
        print(json.load(r.urlopen(request, context=context)))\n";
    let health = run(&harness, "python3", &["-c", script, &url, &serving.token]);
    assert!(health.contains("'status'"), "{health}");
}

#[test]
fn certificate_needs_its_key_and_can_be_configured_only_with_trust() {
    let harness = TaskHarness::new("true", INSTANT);
    make_certificate(&harness, "DNS:localhost");
    let serve = ["serve", "--no-worker", "--listen", "127.0.0.1:0"];
    let refused = |args: &[&str]| {
        let run = harness.run(&[&serve[..], args].concat());
        assert_eq!(run.code, 2, "{run:?}");
        run.stderr
    };
    let cert = harness.path("server.pem");
    let alone = refused(&["--tls-cert", cert.to_str().unwrap()]);
    assert!(alone.contains("--tls-key"), "{alone}");
    let key = harness.path("ca.key");
    let wrong = refused(&[
        "--tls-cert",
        cert.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ]);
    assert!(wrong.contains("does not belong"), "{wrong}");
    let open = refused(&["--listen", "0.0.0.0:0"]);
    assert!(
        open.contains("--tls-cert") || open.contains("cannot be used"),
        "{open}"
    );

    // A file of the repository sets nothing.
    let settings = format!("[server]\ntls_cert = {cert:?}\ntls_key = {key:?}\n");
    harness.file("windlass.toml", &settings);
    let shown = harness.run(&["config"]);
    assert!(!shown.stdout.contains("tls_cert"), "{}", shown.stdout);
    let named = harness.path("named.toml");
    let own = std::fs::read_to_string(&named).unwrap();
    std::fs::write(
        &named,
        format!("{own}[server]\ntls_cert = \"server.pem\"\n"),
    )
    .unwrap();
    let relative = refused(&[]);
    assert!(relative.contains("set an absolute path"), "{relative}");
}

#[test]
fn p16_key_of_a_flag_is_hidden_from_the_processes_of_the_server() {
    let harness = TaskHarness::new("true", INSTANT);
    make_certificate(&harness, "DNS:localhost");
    let (cert, key) = (harness.path("server.pem"), harness.path("server.key"));
    let test = format!("test -f done.txt && cat {cert:?} && ! cat {key:?}");
    let store = format!("sqlite:{}", harness.path("tasks.db").display());
    harness.configure(&store, &test);
    let named = harness.path("named.toml");
    let settings = std::fs::read_to_string(&named).unwrap();
    let readable = format!("{settings}[sandbox]\nreadable = [{cert:?}, {key:?}]\n");
    std::fs::write(&named, readable).unwrap();
    assert_eq!(harness.run(&["task", "add", "Write it"]).code, 0);

    let flags = ["--tls-cert", cert.to_str().unwrap(), "--tls-key"];
    // A relative path, from the working directory.
    let _server = ServeProcess::start(&harness, &[&flags[..], &["../server.key"]].concat());
    let status = || harness.json(&["task", "show", "1", "--json"])["task"]["status"].clone();
    wait_until("the task to end", || {
        !["pending", "in_progress"].contains(&status().as_str().unwrap())
    });
    assert_eq!(status(), "completed");
}
