//! P16: what a process can reach besides files: network, sockets, other processes, the kernel.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use windlass_sandbox::{Mechanism, Profile};

use super::support::{BOUND, User, profiles, said};

#[tokio::test]
async fn p16_the_network_is_for_agents_only() {
    let user = User::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{} && echo connected",
        server.local_addr().unwrap().port()
    );
    for mechanism in BOUND {
        for (profile, reached) in [
            (Profile::agent(), true),
            (Profile::agent().network(false), false),
            (Profile::tool(), false),
            (Profile::test(), false),
            (Profile::test().network(true), true),
        ] {
            let output = user.run(mechanism, profile.clone(), &script).await;
            assert_eq!(
                said(&output).contains("connected"),
                reached,
                "{mechanism} {profile:?}: {}",
                said(&output)
            );
        }
    }
}

/// Such as the Docker daemon's, which is as good as root.
#[tokio::test]
async fn p16_sockets_of_other_programs_are_out_of_reach_for_tools_and_tests() {
    let user = User::new();
    let path = user.home().join("daemon.sock");
    let _daemon = UnixListener::bind(&path).unwrap();
    let script = format!(
        "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}\"); print(\"connected\")'",
        path.display()
    );
    for mechanism in BOUND {
        for profile in [Profile::tool(), Profile::test()] {
            let output = user.run(mechanism, profile, &script).await;
            assert!(!said(&output).contains("connected"), "{mechanism}");
        }
    }
    assert!(said(&user.run(Mechanism::None, Profile::tool(), &script).await).contains("connected"));
}

#[tokio::test]
async fn p16_no_process_outside_can_be_signalled_or_read() {
    let user = User::new();
    let own = std::process::id();
    for mechanism in BOUND {
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
async fn p16_no_privileges_are_left() {
    let user = User::new();
    let script = "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status | tr -d '\\t'
        (echo core >> /proc/sys/kernel/core_pattern) 2>/dev/null && echo changed the kernel";
    for mechanism in BOUND {
        for profile in profiles() {
            let output = user.run(mechanism, profile, script).await;
            assert_eq!(
                said(&output),
                "CapEff:0000000000000000\nNoNewPrivs:1",
                "{mechanism}"
            );
        }
    }
}

/// With a `/proc` of its own it is one of the matrix's works; this is what is left to root's
/// agents.
#[tokio::test]
async fn p16_an_agent_can_build_a_sandbox_of_its_own_without_proc() {
    let user = User::new();
    let script = "bwrap --unshare-user --unshare-pid --ro-bind / / --dev /dev echo inside";
    let output = user
        .run(Mechanism::Bubblewrap, Profile::agent(), script)
        .await;
    assert_eq!(said(&output), "inside");
}
