//! P16: a mechanism that worked is not probed again, and one that does not work any more is noticed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use windlass_core::ErrorCode;
use windlass_sandbox::{Host, Mechanism, Profile, Sandbox};

use super::support::{User, output_text, profiles};

/// A user whose `unshare` counts how often it is started, and fails if there is a file `broken`.
struct CountingUser(User);

impl CountingUser {
    fn new() -> Self {
        let user = User::new();
        let home = user.home();
        let script = format!(
            "#!/bin/sh\necho x >> '{0}/starts'\n\
             [ ! -e '{0}/broken' ] || {{ echo 'unshare: broken' >&2; exit 1; }}\n\
             exec /usr/bin/unshare \"$@\"\n",
            home.display()
        );
        let program = user.write("programs/unshare", &script);
        fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
        Self(user)
    }

    fn host(&self) -> Host {
        let home = self.0.home();
        let path = format!("{}/programs:/usr/local/bin:/usr/bin:/bin", home.display());
        Host::new([("HOME", home.to_str().unwrap()), ("PATH", &path)])
    }

    async fn detect(&self) -> Sandbox {
        Sandbox::detect(self.host()).await.unwrap()
    }

    fn starts(&self) -> usize {
        let lines = fs::read_to_string(self.0.home().join("starts"));
        lines.unwrap_or_default().lines().count()
    }

    fn record(&self) -> PathBuf {
        let records = self.0.home().join(".local/state/windlass/mechanisms");
        records.join("bubblewrap")
    }
}

#[tokio::test]
async fn mechanism_is_probed_by_the_first_process_only() {
    let user = CountingUser::new();
    assert_eq!(user.detect().await.mechanism(), Mechanism::Bubblewrap);
    assert_eq!(user.starts(), 1);
    let sandbox = user.detect().await;
    assert_eq!(sandbox.mechanism(), Mechanism::Bubblewrap);
    assert_eq!(user.starts(), 1);
    let command = user.0.script(Profile::tool(), "echo ran");
    let output = sandbox.run(command).await.unwrap();
    assert_eq!(output.stdout.text(), "ran\n");
    Sandbox::forget_probes(&user.host());
    user.detect().await;
    assert_eq!(user.starts(), 3);
}

#[tokio::test]
async fn p16_mechanism_is_probed_again_if_anything_changed() {
    let user = CountingUser::new();
    user.detect().await;
    let record = fs::read_to_string(user.record()).unwrap();
    for forged in ["", "bubblewrap", &record[1..], &format!("{record}\n")] {
        let starts = user.starts();
        fs::write(user.record(), forged).unwrap();
        user.detect().await;
        assert_eq!(user.starts(), starts + 1, "{forged:?}");
    }
    // Another user could have written it.
    fs::set_permissions(user.record(), Permissions::from_mode(0o620)).unwrap();
    let starts = user.starts();
    user.detect().await;
    assert_eq!(user.starts(), starts + 1);
    let program = user.0.home().join("programs/unshare");
    let script = fs::read_to_string(&program).unwrap();
    fs::write(&program, format!("{script}# other\n")).unwrap();
    user.detect().await;
    assert_eq!(user.starts(), starts + 2);
}

#[tokio::test]
async fn p16_mechanism_that_broke_is_reported_and_no_longer_selected() {
    let user = CountingUser::new();
    user.detect().await;
    user.0.write("broken", "");
    let sandbox = user.detect().await;
    assert_eq!(sandbox.mechanism(), Mechanism::Bubblewrap);
    let command = user.0.script(Profile::agent(), "echo ran");
    let error = sandbox.run(command).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::PermissionDenied);
    assert!(error.to_string().contains("unshare: broken"), "{error}");
    let next = user.detect().await;
    assert_eq!(next.mechanism(), Mechanism::Landlock);
    assert_eq!(next.rejected_mechanisms()[0].0, Mechanism::Bubblewrap);
}

/// A record never answers for a mechanism that would be tried before it.
#[tokio::test]
async fn p16_record_of_a_weaker_mechanism_does_not_select_it() {
    let user = CountingUser::new();
    let weaker = Sandbox::with_mechanism(user.host(), Mechanism::Landlock);
    weaker.await.unwrap();
    assert!(user.record().with_file_name("landlock").is_file());
    assert_eq!(user.detect().await.mechanism(), Mechanism::Bubblewrap);
}

#[tokio::test]
async fn p16_no_process_sees_or_changes_the_records() {
    let user = CountingUser::new();
    let sandbox = user.detect().await;
    let record = user.record();
    let before = fs::read_to_string(&record).unwrap();
    let script = format!("cat {0}; echo forged > {0}", record.display());
    for profile in profiles() {
        let output = sandbox.run(user.0.script(profile, &script)).await.unwrap();
        assert!(!output_text(&output).contains(&before));
    }
    assert_eq!(fs::read_to_string(&record).unwrap(), before);
}
