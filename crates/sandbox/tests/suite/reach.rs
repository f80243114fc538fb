//! P16: what a process can reach besides files: network, sockets, other processes, the kernel.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use windlass_sandbox::{Mechanism, Profile};

use super::support::{ISOLATING, User, output_text, profiles};

#[tokio::test]
async fn p16_no_process_has_network_by_default() {
    let user = User::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{} && echo connected",
        server.local_addr().unwrap().port()
    );
    for mechanism in ISOLATING {
        for (profile, reached) in [
            (Profile::agent(), false),
            (Profile::agent().network(true), true),
            (Profile::tool(), false),
            (Profile::test(), false),
            (Profile::test().network(true), true),
        ] {
            let output = user.run(mechanism, profile.clone(), &script).await;
            assert_eq!(
                output_text(&output).contains("connected"),
                reached,
                "{mechanism} {profile:?}: {}",
                output_text(&output)
            );
        }
    }
}

/// For example, the socket of the Docker daemon, which is equivalent to root access.
#[tokio::test]
async fn p16_tools_and_tests_cannot_reach_unix_sockets() {
    let user = User::new();
    let path = user.home().join("daemon.sock");
    let _daemon = UnixListener::bind(&path).unwrap();
    let script = format!(
        "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}\"); print(\"connected\")'",
        path.display()
    );
    for mechanism in ISOLATING {
        for profile in [Profile::tool(), Profile::test()] {
            let output = user.run(mechanism, profile, &script).await;
            assert!(!output_text(&output).contains("connected"), "{mechanism}");
        }
    }
    assert!(
        output_text(&user.run(Mechanism::None, Profile::tool(), &script).await)
            .contains("connected")
    );
}

#[tokio::test]
async fn p16_outside_processes_cannot_be_signalled_or_read() {
    let user = User::new();
    let own = std::process::id();
    for mechanism in ISOLATING {
        for profile in profiles() {
            let script = format!(
                "kill -0 {own} && echo reached; tr '\\0' '\\n' < /proc/{own}/environ; kill -9 1"
            );
            let output = user.run(mechanism, profile, &script).await;
            assert_eq!(output.stdout.text(), "", "{mechanism}");
        }
    }
}

#[tokio::test]
async fn p16_all_privileges_are_dropped() {
    let user = User::new();
    let script = "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status | tr -d '\\t'
        (echo core >> /proc/sys/kernel/core_pattern) 2>/dev/null && echo changed the kernel";
    for mechanism in ISOLATING {
        for profile in profiles() {
            let output = user.run(mechanism, profile, script).await;
            assert_eq!(
                output_text(&output),
                "CapEff:0000000000000000\nNoNewPrivs:1",
                "{mechanism}"
            );
        }
    }
}

/// The matrix covers an inner sandbox with its own `/proc`; this is what agents of root can still
/// do.
#[tokio::test]
async fn p16_agent_can_create_inner_sandbox_without_proc() {
    let user = User::new();
    let script = "bwrap --unshare-user --unshare-pid --ro-bind / / --dev /dev echo inside";
    let output = user
        .run(Mechanism::Bubblewrap, Profile::agent(), script)
        .await;
    assert_eq!(output_text(&output), "inside");
}
