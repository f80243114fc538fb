//! P18: a server gets only the allow-list and its configured variables. P16: it runs in the sandbox.

use serde_json::Map;

use super::support::{User, script, server};

#[tokio::test]
async fn p18_server_gets_allow_list_and_its_own_variables() {
    let mut demo = server("demo");
    demo.env.insert("OWN_KEY".to_owned(), "given".to_owned());
    let servers = User::new().connect(&[demo]).await.unwrap();
    let names = servers.call("demo", "env", Map::new()).await.unwrap();
    let names: Vec<&str> = names.as_str().unwrap().lines().collect();
    assert!(
        names.contains(&"OWN_KEY") && names.contains(&"PATH"),
        "{names:?}"
    );
    assert!(
        !names.iter().any(|name| name.contains("SECRET")),
        "{names:?}"
    );
}

#[tokio::test]
async fn p16_server_can_write_only_in_the_project() {
    let user = User::new();
    let project = user.project();
    let outside = project.with_file_name("outside");
    let command = format!("touch inside '{}'", outside.display());
    // Outside the project it has at most a private copy.
    let servers = user.connect(&[script("writer", &command)]).await;
    assert!(servers.is_err(), "a script that only writes is no server");
    assert!(project.join("inside").exists() && !outside.exists());
}
