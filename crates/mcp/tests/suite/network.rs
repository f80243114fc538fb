//! P16: a server reaches the hosts in its settings and no others.

use std::net::TcpListener;

use windlass_core::{McpServer, NetworkMode, NetworkSetting};

use super::support::{User, script};

/// Returns whether a server with these settings can connect to a service on this machine.
async fn connects(change: impl FnOnce(&mut McpServer, u16)) -> bool {
    let user = User::new();
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    service.set_nonblocking(true).unwrap();
    let port = service.local_addr().unwrap().port();
    let command = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) && touch connected; touch tried");
    let mut server = script("client", &command);
    change(&mut server, port);
    let connected = user.connect(&[server]).await;
    assert!(
        connected.is_err(),
        "a script that only connects is no server"
    );
    assert!(user.project().join("tried").exists());
    let connected = user.project().join("connected").exists();
    assert_eq!(service.accept().is_ok(), connected);
    connected
}

fn hosts(hosts: &[String]) -> Option<NetworkSetting> {
    Some(NetworkSetting::Hosts(hosts.to_vec()))
}

#[tokio::test]
async fn p16_server_has_no_network_by_default() {
    assert!(!connects(|_, _| ()).await);
    let other = hosts(&["api.example.com:443".to_owned()]);
    assert!(!connects(|server, _| server.network = other).await);
    let none = Some(NetworkSetting::Mode(NetworkMode::None));
    let address = |port: u16| format!("http://127.0.0.1:{port}/");
    assert!(
        !connects(|server, port| {
            server.network = none;
            server.env.insert("SERVICE_URL".to_owned(), address(port));
        })
        .await
    );
}

#[tokio::test]
async fn server_reaches_the_hosts_in_its_settings() {
    let open = Some(NetworkSetting::Mode(NetworkMode::Open));
    assert!(connects(|server, _| server.network = open).await);
    assert!(connects(|server, port| server.network = hosts(&[format!("127.0.0.1:{port}")])).await);
    let address = |port: u16| format!("http://127.0.0.1:{port}/");
    assert!(
        connects(|server, port| {
            server.env.insert("SERVICE_URL".to_owned(), address(port));
        })
        .await
    );
}

#[tokio::test]
async fn invalid_host_is_rejected() {
    let mut server = script("client", "true");
    server.network = hosts(&["a b".to_owned()]);
    let error = User::new().connect(&[server]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "mcp server client: network: \"a b\": the host is not a name: expected a host and a port such as \
         api.example.com:443"
    );
}

#[test]
fn network_is_written_like_the_setting_of_an_agent() {
    let parse = |network: &str| {
        let text = format!(r#"{{ "name": "s", "command": "c"{network} }}"#);
        serde_json::from_str::<McpServer>(&text).unwrap().network
    };
    assert_eq!(parse(""), None);
    assert_eq!(
        parse(r#", "network": "open""#),
        Some(NetworkSetting::Mode(NetworkMode::Open))
    );
    assert_eq!(
        parse(r#", "network": ["a.example:443"]"#),
        hosts(&["a.example:443".to_owned()])
    );
}
