//! How the server starts and ends.

use futures::StreamExt;
use windlass_server::{Server, ServerError, ServerLimits, Token};

use super::world::{TestDesk, World, serve};
use super::ws::connect;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_closes_sockets_and_frees_the_port() {
    let world = World::new().await;
    let mut socket = connect(&world, "").await;
    assert_eq!(socket.next_json().await["type"], "hello");
    let (store, token, project, addr) = (
        world.store.clone(),
        world.token.clone(),
        world.project.id,
        world.addr(),
    );
    world.running.stop().await;
    let (code, _) = socket.closed().await.unwrap();
    assert_eq!(code, 1001);
    assert!(socket.stream.next().await.is_none());
    // The next one may begin at once, at the same place.
    serve(
        &store,
        &token,
        project,
        ServerLimits::default(),
        &addr.to_string(),
    )
    .await;
}

#[tokio::test]
async fn p22_no_other_machine_is_served_unless_somebody_says_so() {
    let world = World::new().await;
    let server = |anywhere: bool| {
        let token = Token::new(&world.token);
        let store = world.store.clone();
        Server::new(store, std::sync::Arc::new(TestDesk), token).allow_non_loopback(anywhere)
    };
    let refused = server(false).listen("0.0.0.0:0".parse().unwrap()).await;
    assert!(matches!(refused, Err(ServerError::NotLoopback { .. })));
    server(true)
        .listen("0.0.0.0:0".parse().unwrap())
        .await
        .unwrap();
    let taken = server(false).listen(world.addr()).await.unwrap_err();
    assert!(taken.to_string().contains("is taken"), "{taken}");
}
