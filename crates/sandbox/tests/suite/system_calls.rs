//! P16: which system calls the filter denies, tried one by one from inside.

use std::collections::BTreeMap;

use keyutils::{Keyring, Permission, SpecialKeyring, keytypes::User as UserKey};
use windlass_sandbox::{CommandSpec, Mechanism, Profile};

use super::support::{ALL, ISOLATING, User, output_text, profiles};

const PAYLOAD: &str = include_str!("../payloads/system_calls.py");

/// The calls that every profile denies.
const DENIED_ALWAYS: &[&str] = &[
    "add_key",
    "bpf",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "pidfd_getfd",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace_attach",
    "ptrace_seize",
    "request_key",
    "tioclinux",
    "tiocsti",
    "tiocsti_high_bits",
    "userfaultfd",
];

/// The calls that an agent may make and a tool or a test may not.
const DENIED_TO_TOOLS: &[&str] = &[
    "clone_user",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "io_uring",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "perf_event_open",
    "pivot_root",
    "ptrace_traceme",
    "setns",
    "umount2",
    "unshare_user",
    "unshare_user_and_mount",
];

/// Calls that the kernel itself may refuse, depending on its configuration.
const OPTIONAL: &[&str] = &["kexec_file_load", "kexec_load", "x32"];

/// Returns the kernel's answer to each attempt of the payload.
async fn answers(user: &User, mechanism: Mechanism, spec: CommandSpec) -> BTreeMap<String, String> {
    let output = user.sandbox(mechanism).await.run(spec).await.unwrap();
    let text = output.stdout.text();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    let answers: BTreeMap<String, String> = pairs
        .map(|(name, answer)| (name.to_owned(), answer.to_owned()))
        .collect();
    let expected = DENIED_ALWAYS.len() + DENIED_TO_TOOLS.len();
    assert!(answers.len() > expected, "{}", output_text(&output));
    answers
}

fn payload(user: &User, profile: Profile) -> CommandSpec {
    CommandSpec::new("/usr/bin/python3", user.repository(), profile).args(["-c", PAYLOAD])
}

#[tokio::test]
async fn p16_every_attempt_succeeds_without_the_filter() {
    let user = User::new();
    // In a user namespace of its own, the payload has every capability that it can get.
    let spec = CommandSpec::new("unshare", user.repository(), Profile::tool())
        .args(["--user", "--map-root-user", "--mount", "--"])
        .args(["/usr/bin/python3", "-c", PAYLOAD]);
    let mut answers = answers(&user, Mechanism::None, spec).await;
    answers.retain(|name, answer| answer != "called" && !OPTIONAL.contains(&name.as_str()));
    assert_eq!(answers, BTreeMap::new());
}

#[tokio::test]
async fn p16_tools_and_tests_cannot_call_into_kernel_or_other_processes() {
    let user = User::new();
    for mechanism in ISOLATING {
        for profile in [Profile::tool(), Profile::test()] {
            let answers = answers(&user, mechanism, payload(&user, profile)).await;
            for name in DENIED_ALWAYS.iter().chain(DENIED_TO_TOOLS) {
                assert_eq!(answers[*name], "EPERM", "{mechanism}: {name}");
            }
            assert_eq!(answers["clone3"], "ENOSYS", "{mechanism}");
            assert_foreign_calls_denied(&answers);
        }
    }
}

#[tokio::test]
async fn p16_agents_cannot_reach_keys_or_kernel_and_can_still_create_a_sandbox() {
    let user = User::new();
    for mechanism in ISOLATING {
        // Without a network, Landlock also needs a filter that denies `io_uring`.
        let profile = Profile::agent().network(true);
        let answers = answers(&user, mechanism, payload(&user, profile)).await;
        for name in DENIED_ALWAYS {
            assert_eq!(answers[*name], "EPERM", "{mechanism}: {name}");
        }
        for name in [
            "clone3",
            "clone_user",
            "io_uring",
            "ptrace_traceme",
            "unshare_user",
        ] {
            assert_eq!(answers[name], "called", "{mechanism}: {name}");
        }
        assert_foreign_calls_denied(&answers);
    }
}

/// The programs of another architecture have other numbers for the same calls.
fn assert_foreign_calls_denied(answers: &BTreeMap<String, String>) {
    let foreign = answers.get("foreign_abi").map(String::as_str);
    let x32 = answers.get("x32").map(String::as_str);
    let expected = if cfg!(target_arch = "x86_64") {
        (Some("SIGSYS"), Some("ENOSYS"))
    } else {
        (None, None)
    };
    assert_eq!((foreign, x32), expected);
}

/// Runs on one thread, because a session keyring belongs to a thread.
#[tokio::test]
async fn p16_session_keyring_is_empty_in_every_profile() {
    let user = User::new();
    Keyring::join_anonymous_session().unwrap();
    let mut keyring = Keyring::attach_or_create(SpecialKeyring::Session).unwrap();
    let mut key = keyring
        .add_key::<UserKey, _, _>("windlass-canary", b"secret".as_slice())
        .unwrap();
    // Only a process that has the key in its keyrings can see it.
    key.set_permissions(Permission::POSSESSOR_ALL).unwrap();
    let keys = std::fs::read_to_string("/proc/keys").unwrap();
    assert!(keys.contains("windlass-canary"), "{keys}");
    for mechanism in ALL {
        for profile in profiles() {
            let output = user
                .run(mechanism, profile, "cat /proc/keys; echo read")
                .await;
            let text = output_text(&output);
            assert!(text.ends_with("read"), "{mechanism}: {text}");
            assert!(!text.contains("windlass-canary"), "{mechanism}: {text}");
        }
    }
}
