//! P18: children get an empty environment plus a list.

use super::support::{ALL, User, profiles};

#[tokio::test]
async fn p18_secrets_reach_no_child() {
    let user = User::new();
    for mechanism in ALL {
        for profile in profiles() {
            let kind = profile.kind().as_str();
            let output = user
                .run(
                    mechanism,
                    profile,
                    "env; cat /proc/*/environ | tr '\\0' '\\n'",
                )
                .await;
            let seen = output.stdout.text();
            assert!(seen.contains("PATH="), "{mechanism} {kind} printed nothing");
            assert!(
                !seen.contains("SECRET_"),
                "{mechanism} {kind} saw a secret:\n{seen}"
            );
        }
    }
}

#[tokio::test]
async fn p18_what_the_caller_names_is_given() {
    let user = User::new();
    for mechanism in ALL {
        let sandbox = user.sandbox(mechanism).await;
        for profile in profiles() {
            let spec = user
                .script(profile, "echo $OWN_KEY")
                .env("OWN_KEY", "given");
            assert_eq!(
                sandbox.run(spec).await.unwrap().stdout.text().trim(),
                "given"
            );
        }
    }
}

#[test]
fn p19_debug_shows_names_only() {
    let user = User::new();
    let shown = format!("{:?}", user.host());
    assert!(
        shown.contains("SECRET_TOKEN") && !shown.contains("canary"),
        "{shown}"
    );
}
