//! Start and stop of the server.

use futures::StreamExt;
use windlass_server::{Server, ServerError, ServerLimits, Token};

use super::harness::{Harness, TestHostOps, serve};
use super::ws::connect;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_closes_sockets_and_frees_the_port() {
    let harness = Harness::new().await;
    let mut socket = connect(&harness, "").await;
    assert_eq!(socket.next_json().await["type"], "hello");
    let (store, access, token, project, addr) = (
        harness.store.clone(),
        harness.access.clone(),
        harness.token.clone(),
        harness.project.id,
        harness.addr(),
    );
    harness.running.stop().await;
    let (code, _) = socket.closed().await.unwrap();
    assert_eq!(code, 1001);
    assert!(socket.stream.next().await.is_none());
    // Another server can start immediately on the same address.
    serve(
        &store,
        &access,
        &token,
        project,
        ServerLimits::default(),
        &addr.to_string(),
    )
    .await;
}

#[tokio::test]
async fn p22_non_loopback_address_needs_explicit_permission() {
    let harness = Harness::new().await;
    let server = |non_loopback: bool| {
        let token = Token::new(&harness.token);
        let (store, access) = (harness.store.clone(), harness.access.clone());
        let host_ops = std::sync::Arc::new(TestHostOps);
        Server::new(store, access, host_ops, token).allow_non_loopback(non_loopback)
    };
    let rejected = server(false).listen("0.0.0.0:0".parse().unwrap()).await;
    assert!(matches!(rejected, Err(ServerError::NotLoopback { .. })));
    server(true)
        .listen("0.0.0.0:0".parse().unwrap())
        .await
        .unwrap();
    let in_use = server(false).listen(harness.addr()).await.unwrap_err();
    assert!(in_use.to_string().contains("is already in use"), "{in_use}");
}
