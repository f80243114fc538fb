//! P16: the strongest mechanism is found, and without one nothing is run.

use windlass_core::ErrorCode;
use windlass_sandbox::{Host, Mechanism, Sandbox};

use super::support::User;

#[tokio::test]
async fn p16_the_strongest_mechanism_is_found() {
    let found = Sandbox::detect(User::new().host()).await.unwrap();
    assert_eq!(
        found.mechanism(),
        Mechanism::Bubblewrap,
        "install the package bubblewrap: {:?}",
        found.rejected_mechanisms()
    );
}

#[tokio::test]
async fn p16_without_bubblewrap_landlock_is_in_force_and_the_reason_is_known() {
    let found = Sandbox::detect(without_bubblewrap()).await.unwrap();
    assert_eq!(found.mechanism(), Mechanism::Landlock);
    let reason = "bwrap is not installed: install the package bubblewrap".to_owned();
    assert_eq!(
        found.rejected_mechanisms(),
        [(Mechanism::Bubblewrap, reason)]
    );
}

/// On a thread of its own, as what it gives up it cannot get back.
#[test]
fn p16_without_any_mechanism_nothing_is_run() {
    let detected = std::thread::spawn(|| {
        forbid_landlock();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(Sandbox::detect(without_bubblewrap()))
    });
    let error = detected.join().unwrap().unwrap_err();
    assert_eq!(error.code(), ErrorCode::PermissionDenied);
    let sentence = error.to_string();
    assert!(
        sentence.starts_with(
            "no isolation: bwrap is not installed: install the package bubblewrap; landlock: "
        ),
        "{sentence}"
    );
}

fn without_bubblewrap() -> Host {
    Host::new([("HOME", "/nonexistent"), ("PATH", "/nonexistent")])
}

/// As on a kernel that was built without it.
fn forbid_landlock() {
    const LANDLOCK_CREATE_RULESET: i64 = 444;
    const ENOSYS: u32 = 38;
    let filter = seccompiler::SeccompFilter::new(
        [(LANDLOCK_CREATE_RULESET, Vec::new())].into(),
        seccompiler::SeccompAction::Allow,
        seccompiler::SeccompAction::Errno(ENOSYS),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: seccompiler::BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}
