//! Accepts the connections of one process, and connects to the hosts that it may reach.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::blocked::BlockedLog;
use super::host_rule::{HostPattern, HostRule};
use super::plan::{LOCALHOST, NetworkPlan};
use super::relay::relay;
use super::upstream::Upstream;
use super::{address, head};
use crate::init_protocol;

/// How many connections of one process may be open at the same time.
const MAX_CONNECTIONS: usize = 256;
/// How long a client may take to send its request, and a server to accept a connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_HEAD_BYTES: usize = 8 << 10;

const NOT_LISTED: &str = "the host is not allowed: add it to `network`";
const ENDED: &str = "the network of the sandbox ended: the process can reach no host any more";
const FULL: &str = "256 connections are open: further ones wait until one is closed";
const INTERNAL: &str = "the name has an address in a private network";

/// What all connections of one process share.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) plan: NetworkPlan,
    pub(crate) upstream: Option<Upstream>,
    pub(crate) blocked: Arc<BlockedLog>,
}

impl Proxy {
    /// Receives the listeners from the init process, and serves them until this future is dropped. The listeners are
    /// the only way out of the namespace: without this future, the process has no network.
    pub(crate) async fn serve(self, socket: StdStream) {
        let blocked = Arc::clone(&self.blocked);
        let ended = self.accept_all(socket).await;
        tracing::debug!(?ended, "the proxy of a sandboxed process ended");
        let has_no_process = ended.is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof);
        if !has_no_process {
            blocked.add_problem(ENDED);
        }
    }

    async fn accept_all(self, socket: StdStream) -> io::Result<()> {
        let ports = self.plan.listeners();
        let listeners = receive(socket, ports.len()).await?;
        let (proxy, permits) = (Arc::new(self), Arc::new(Semaphore::new(MAX_CONNECTIONS)));
        let mut accepting = JoinSet::new();
        for (port, listener) in ports.into_iter().zip(listeners) {
            let (proxy, permits) = (Arc::clone(&proxy), Arc::clone(&permits));
            accepting.spawn(async move { accept(proxy, permits, listener, port).await });
        }
        // Each runs forever.
        accepting.join_next().await;
        Ok(())
    }

    async fn handle(&self, mut client: TcpStream, port: u16) -> io::Result<()> {
        if port == self.plan.proxy_port {
            let head = timeout(HEAD_TIMEOUT, read_head(&mut client)).await??;
            return self.handle_request(client, &head).await;
        }
        let address = client.local_addr()?.ip().to_canonical();
        let host = self.plan.host_at(address, port);
        let server = self.connect(&host, port).await?;
        relay(client, server).await;
        Ok(())
    }

    async fn handle_request(&self, mut client: TcpStream, head: &[u8]) -> io::Result<()> {
        let Some(request) = head::parse(head) else {
            return client
                .write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
                .await;
        };
        match self.connect(&request.host, request.port).await {
            Ok(mut server) => {
                match &request.forward {
                    Some(head) => server.write_all(head).await?,
                    None => client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?,
                }
                relay(client, server).await;
                Ok(())
            }
            Err(error) => {
                let status = match error.kind() {
                    io::ErrorKind::PermissionDenied => "403 Forbidden",
                    _ => "502 Bad Gateway",
                };
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n{error}\n"
                );
                client.write_all(answer.as_bytes()).await
            }
        }
    }

    /// Connects to a host, if it is allowed.
    async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let Some(rule) = self.plan.rule_for(host, port) else {
            return Err(self.block(host, port, NOT_LISTED));
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if let Some(upstream) = self.upstream.as_ref().filter(|proxy| proxy.serves(&host)) {
            return timeout(CONNECT_TIMEOUT, upstream.connect(&host, port)).await?;
        }
        let addresses = resolve(rule, &host, port).await?;
        if addresses.is_empty() {
            return Err(self.block(&host, port, INTERNAL));
        }
        timeout(CONNECT_TIMEOUT, TcpStream::connect(&addresses[..])).await?
    }

    fn block(&self, host: &str, port: u16, reason: &'static str) -> io::Error {
        self.blocked.add(host, port, reason);
        io::Error::new(io::ErrorKind::PermissionDenied, reason)
    }
}

/// Returns the addresses of a host that its rule allows.
async fn resolve(rule: &HostRule, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let HostPattern::Address(address) = rule.pattern {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    if host == LOCALHOST {
        let addresses = [
            [127, 0, 0, 1].into(),
            IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
        ];
        return Ok(addresses
            .map(|address| SocketAddr::new(address, port))
            .into());
    }
    let found = timeout(CONNECT_TIMEOUT, lookup_host((host, port))).await??;
    Ok(found
        .filter(|found| address::is_allowed(found.ip(), rule.is_private))
        .collect())
}

async fn accept(proxy: Arc<Proxy>, permits: Arc<Semaphore>, listener: TcpListener, port: u16) {
    let mut open = JoinSet::new();
    loop {
        if permits.available_permits() == 0 {
            proxy.blocked.add_problem(FULL);
        }
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = open.join_next() => continue,
        };
        match accepted {
            Ok((client, _)) => {
                let proxy = Arc::clone(&proxy);
                open.spawn(async move {
                    let _permit = permit;
                    if let Err(error) = proxy.handle(client, port).await {
                        tracing::debug!(%error, port, "a connection of a sandboxed process failed");
                    }
                });
            }
            // The machine is out of descriptors; connections that end release some.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Reads until the empty line that ends the head of a request.
async fn read_head(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_HEAD_BYTES {
            return Err(io::Error::other("the request is too long"));
        }
        // One byte at a time: what follows the head is for the server.
        head.push(client.read_u8().await?);
    }
    Ok(head)
}

/// Receives the listeners that the init process opened.
async fn receive(socket: StdStream, count: usize) -> io::Result<Vec<TcpListener>> {
    socket.set_nonblocking(true)?;
    let socket = UnixStream::from_std(socket)?;
    let fds: Vec<OwnedFd> = socket
        .async_io(tokio::io::Interest::READABLE, || {
            init_protocol::receive_listeners(&socket)
        })
        .await?;
    if fds.is_empty() {
        // The init process has ended, and with it the process.
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if fds.len() != count {
        return Err(io::Error::other(
            "the init process opened too few listeners",
        ));
    }
    fds.into_iter()
        .map(|fd| {
            let listener = std::net::TcpListener::from(fd);
            listener.set_nonblocking(true)?;
            TcpListener::from_std(listener)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Served {
        proxy: tokio::task::JoinHandle<()>,
        port: u16,
        blocked: Arc<BlockedLog>,
    }

    /// Serves one allowed port and the proxy's port, with listeners of this test instead of a namespace.
    async fn served(listeners: usize) -> Served {
        let opened: Vec<std::net::TcpListener> = (0..listeners)
            .map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let port = opened
            .last()
            .map_or(0, |one| one.local_addr().unwrap().port());
        let blocked = Arc::<BlockedLog>::default();
        let proxy = Proxy {
            plan: NetworkPlan::new(&["192.0.2.1:9".parse().unwrap()]).unwrap(),
            upstream: None,
            blocked: Arc::clone(&blocked),
        };
        let (ours, theirs) = StdStream::pair().unwrap();
        let fds: Vec<OwnedFd> = opened.into_iter().map(OwnedFd::from).collect();
        if !fds.is_empty() {
            init_protocol::send_listeners(&theirs, &fds).unwrap();
        }
        drop((fds, theirs));
        let proxy = tokio::spawn(proxy.serve(ours));
        Served {
            proxy,
            port,
            blocked,
        }
    }

    #[tokio::test]
    async fn p16_connections_are_refused_when_the_proxy_was_killed() {
        let served = served(2).await;
        let address = ("127.0.0.1", served.port);
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"hello").await.unwrap();
        served.proxy.abort();
        assert!(served.proxy.await.is_err());
        let refused = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let open = client.read(&mut [0]).await;
        assert!(matches!(open, Ok(0) | Err(_)), "{open:?}");
    }

    #[tokio::test]
    async fn p16_proxy_that_cannot_serve_reports_it() {
        let broken = served(1).await;
        broken.proxy.await.unwrap();
        assert_eq!(broken.blocked.take_problems(), [ENDED]);
        assert_eq!(broken.blocked.take_problems(), [""; 0]);
        let without_process = served(0).await;
        without_process.proxy.await.unwrap();
        assert_eq!(without_process.blocked.take_problems(), [""; 0]);
    }

    #[tokio::test]
    async fn p12_flood_of_connections_is_reported() {
        let served = served(2).await;
        let mut held = Vec::new();
        // The address of the allowed host never answers, so each connection stays open.
        for _ in 0..=MAX_CONNECTIONS {
            held.push(
                TcpStream::connect(("127.0.0.1", served.port))
                    .await
                    .unwrap(),
            );
        }
        let mut problems = served.blocked.take_problems();
        while problems.is_empty() {
            tokio::task::yield_now().await;
            problems = served.blocked.take_problems();
        }
        assert_eq!(problems, [FULL]);
        served.proxy.abort();
    }
}
