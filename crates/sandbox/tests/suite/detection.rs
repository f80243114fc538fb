//! P16: the strongest mechanism is selected, and without one nothing runs.

use windlass_core::ErrorCode;
use windlass_sandbox::{Host, Mechanism, Sandbox};

use super::support::User;

#[tokio::test]
async fn p16_strongest_mechanism_is_selected() {
    let sandbox = Sandbox::detect(User::new().host()).await.unwrap();
    assert_eq!(
        sandbox.mechanism(),
        Mechanism::Bubblewrap,
        "install the package bubblewrap: {:?}",
        sandbox.rejected_mechanisms()
    );
}

#[tokio::test]
async fn p16_without_bubblewrap_landlock_is_selected_with_reason() {
    let sandbox = Sandbox::detect(without_bubblewrap()).await.unwrap();
    assert_eq!(sandbox.mechanism(), Mechanism::Landlock);
    let reason = "bwrap is not installed: install the package bubblewrap".to_owned();
    assert_eq!(
        sandbox.rejected_mechanisms(),
        [(Mechanism::Bubblewrap, reason)]
    );
}

/// Runs on a separate thread, because the restriction cannot be undone.
#[test]
fn p16_without_any_mechanism_nothing_runs() {
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
    let message = error.to_string();
    assert!(
        message.starts_with(
            "no isolation: bwrap is not installed: install the package bubblewrap; landlock: "
        ),
        "{message}"
    );
}

fn without_bubblewrap() -> Host {
    Host::new([("HOME", "/nonexistent"), ("PATH", "/nonexistent")])
}

/// Simulates a kernel built without Landlock.
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
