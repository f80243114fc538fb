//! A server with a certificate, for real clients.

use assert_cmd::Command;

use super::serve_harness::ServeProcess;
use super::task_harness::TaskHarness;

/// Runs a program in the directory of a harness, which must succeed, and returns its output.
#[track_caller]
pub(crate) fn run(harness: &TaskHarness, program: &str, args: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command
        .args(args)
        .current_dir(harness.path(""))
        .output()
        .unwrap();
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Makes `ca.pem`, and `server.pem` with `server.key` for these names.
pub(crate) fn make_certificate(harness: &TaskHarness, names: &str) {
    let config = format!(
        "[req]\ndistinguished_name = subject\nprompt = no\n[subject]\nCN = Test\n\
         [ca]\nbasicConstraints = critical,CA:TRUE\n\
         [leaf]\nbasicConstraints = critical,CA:FALSE\nsubjectAltName = {names}\n"
    );
    std::fs::write(harness.path("openssl.conf"), config).unwrap();
    let make = |section: &str, file: &str, more: &[&str]| {
        let (key, cert) = (format!("{file}.key"), format!("{file}.pem"));
        let mut args = vec!["req", "-x509", "-config", "openssl.conf", "-days", "2"];
        args.extend([
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        ]);
        args.extend(["-extensions", section, "-keyout", &key, "-out", &cert]);
        args.extend(more);
        run(harness, "openssl", &args);
    };
    make("ca", "ca", &[]);
    make("leaf", "server", &["-CA", "ca.pem", "-CAkey", "ca.key"]);
}

/// Starts a server with a certificate.
pub(crate) fn start(harness: &TaskHarness, flags: &[&str]) -> ServeProcess {
    let (cert, key) = (harness.path("server.pem"), harness.path("server.key"));
    let mut all = vec!["--no-worker", "--tls-cert", cert.to_str().unwrap()];
    all.extend(["--tls-key", key.to_str().unwrap()]);
    all.extend(flags);
    ServeProcess::start(harness, &all)
}
