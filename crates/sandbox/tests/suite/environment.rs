//! P18: children get an empty environment plus an allow-list.

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
            let environment = output.stdout.text();
            assert!(
                environment.contains("PATH="),
                "{mechanism} {kind} printed nothing"
            );
            assert!(
                !environment.contains("SECRET_"),
                "{mechanism} {kind} saw a secret:\n{environment}"
            );
        }
    }
}

#[tokio::test]
async fn p18_variables_of_the_caller_are_passed() {
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
fn p19_debug_shows_only_variable_names() {
    let user = User::new();
    let debug = format!("{:?}", user.host());
    assert!(
        debug.contains("SECRET_TOKEN") && !debug.contains("canary"),
        "{debug}"
    );
}
