//! P16: a process with a list of allowed hosts reaches these hosts only. All servers are on this
//! machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use windlass_sandbox::{
    BlockedConnection, CommandSpec, Host, HostRule, Mechanism, Profile, Sandbox,
};

use super::support::{ISOLATING, User, output_text};

/// Starts a server that greets every client, and returns its port.
fn greeter() -> u16 {
    serve(|mut client| client.write_all(b"hello\n"))
}

/// Starts a proxy that answers every request with the request itself.
fn echoing_proxy() -> u16 {
    serve(|client| {
        let mut request = String::new();
        let mut reader = BufReader::new(client.try_clone()?);
        reader.read_line(&mut request)?;
        let mut line = String::new();
        while reader.read_line(&mut line)? > 2 {
            line.clear();
        }
        let mut client = client;
        write!(client, "HTTP/1.1 200 OK\r\n\r\nproxy got {request}")
    })
}

fn serve(answer: impl Fn(TcpStream) -> std::io::Result<()> + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            // A client may be gone already.
            let _ = client.and_then(&answer);
        }
    });
    port
}

fn agent(hosts: &[&str]) -> Profile {
    let rules = hosts.iter().map(|host| host.parse::<HostRule>().unwrap());
    Profile::agent().hosts(rules)
}

/// Returns a script that connects and prints what the server sends.
fn connect(host: &str, port: u16) -> String {
    format!("(exec 3<>/dev/tcp/{host}/{port} && head -n 1 <&3) 2>&1; ")
}

#[tokio::test]
async fn p16_only_allowed_hosts_are_reached() {
    let user = User::new();
    let (allowed, other) = (greeter(), greeter());
    let script = connect("127.0.0.1", allowed) + &connect("127.0.0.1", other);
    for mechanism in ISOLATING {
        let profile = agent(&[&format!("127.0.0.1:{allowed}")]);
        let output = user.run(mechanism, profile, &script).await;
        let text = output_text(&output);
        assert!(text.starts_with("hello\n"), "{mechanism}: {text}");
        assert_eq!(text.matches("hello").count(), 1, "{mechanism}: {text}");
        // The same script reaches both servers if the network is open.
        let output = user
            .run(mechanism, Profile::agent().network(true), &script)
            .await;
        assert_eq!(output.stdout.text(), "hello\nhello\n", "{mechanism}");
        // An empty list allows nothing.
        let output = user.run(mechanism, agent(&[]), &script).await;
        assert!(!output_text(&output).contains("hello"), "{mechanism}");
    }
}

#[tokio::test]
async fn p16_localhost_by_name_is_reached_at_its_port() {
    let user = User::new();
    let port = greeter();
    let script = connect("localhost", port) + &connect("127.0.0.1", port);
    let profile = agent(&[&format!("localhost:{port}")]);
    let output = user.run(Mechanism::Bubblewrap, profile, &script).await;
    assert_eq!(output.stdout.text(), "hello\nhello\n");
}

/// Names are resolved outside. The test has no name server, but a proxy that gets the names.
#[tokio::test]
async fn p16_allowed_names_are_reached_without_proxy_settings() {
    let user = User::new();
    let sandbox = behind_proxy(&user, echoing_proxy()).await;
    let script = ["api.example.com", "other.example.com"].map(|host| connect(host, 443));
    let spec = user.script(agent(&["api.example.com:443"]), &script.concat());
    let output = sandbox.run(spec).await.unwrap();
    let text = output_text(&output);
    assert!(
        text.starts_with("proxy got CONNECT api.example.com:443 HTTP/1.1"),
        "{text}"
    );
    assert!(!text.contains("CONNECT other"), "{text}");
}

#[tokio::test]
async fn p16_proxy_inside_checks_names() {
    let user = User::new();
    let sandbox = behind_proxy(&user, echoing_proxy()).await;
    let script = "
        ask() { exec 3<>/dev/tcp/127.0.0.1/${https_proxy##*:}; printf \"$1\\r\\n\\r\\n\" >&3; cat <&3; }
        ask 'CONNECT a.example.com:443 HTTP/1.1'
        ask 'CONNECT evil.example.org:443 HTTP/1.1'
        ask 'CONNECT example.com:443 HTTP/1.1'
        ask 'GET http://a.example.com/ HTTP/1.1'";
    let spec = user.script(agent(&["*.example.com:443"]), script);
    let output = sandbox.run(spec).await.unwrap();
    let text = output_text(&output);
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 1, "{text}");
    assert!(
        text.contains("proxy got CONNECT a.example.com:443"),
        "{text}"
    );
    assert_eq!(text.matches("HTTP/1.1 403 Forbidden").count(), 3, "{text}");
    let blocked = [
        "evil.example.org:443",
        "example.com:443",
        "a.example.com:80",
    ];
    assert_eq!(hosts(&output.blocked), blocked);
}

#[tokio::test]
async fn p16_blocked_connection_is_reported_with_host_and_port() {
    let user = User::new();
    let script = connect("192.0.2.7", 443).repeat(2) + &connect("127.0.0.1", 443);
    let spec = user.script(agent(&["api.example.com:443"]), &script);
    let output = user
        .sandbox(Mechanism::Bubblewrap)
        .await
        .run(spec)
        .await
        .unwrap();
    assert_eq!(hosts(&output.blocked), ["192.0.2.7:443", "127.0.0.1:443"]);
    assert_eq!(
        output.blocked[0].to_string(),
        "connection to 192.0.2.7:443 blocked: the host is not allowed: add it to `network`"
    );
}

/// A process in the namespace has no rights over it, even as root of a namespace of its own.
#[tokio::test]
async fn p16_namespace_cannot_be_changed_from_inside() {
    let user = User::new();
    let port = greeter();
    let script = format!(
        "unshare --user --map-root-user sh -c 'ip route del local default dev lo; ip link set lo down'
        {}",
        connect("127.0.0.1", port)
    );
    let profile = agent(&[&format!("127.0.0.1:{port}")]);
    let output = user.run(Mechanism::Bubblewrap, profile, &script).await;
    let text = output_text(&output);
    assert!(text.contains("Operation not permitted"), "{text}");
    assert!(text.contains("hello"), "{text}");
}

#[tokio::test]
async fn tools_without_network_have_a_loopback_device() {
    let user = User::new();
    let script = "/usr/bin/python3 -c '
import socket
server = socket.create_server((\"127.0.0.1\", 0))
client = socket.create_connection(server.getsockname())
client.sendall(b\"inside\")
print(server.accept()[0].recv(6).decode())'";
    let output = user
        .run(Mechanism::Bubblewrap, Profile::tool(), script)
        .await;
    assert_eq!(output_text(&output), "inside");
}

/// A flood of connections neither blocks later ones nor keeps resources of this process.
#[tokio::test]
async fn p12_open_connections_are_bounded() {
    let user = User::new();
    let port = greeter();
    let script = format!(
        "/usr/bin/python3 -c '
import socket
held = []
for _ in range(300):
    held.append(socket.create_connection((\"127.0.0.1\", {port})))
for client in held[:200]: client.close()
print(held[-1].recv(5).decode())'"
    );
    let profile = agent(&[&format!("127.0.0.1:{port}")]);
    let spec = CommandSpec::new("bash", user.repository(), profile).args(["-c", &script]);
    let sandbox = user.sandbox(Mechanism::Bubblewrap).await;
    let output = sandbox.run(spec).await.unwrap();
    assert_eq!(output_text(&output), "hello");
}

async fn behind_proxy(user: &User, port: u16) -> Sandbox {
    let home = user.home();
    let host = Host::new([
        ("HOME", home.to_str().unwrap()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HTTPS_PROXY", &format!("http://127.0.0.1:{port}")),
    ]);
    Sandbox::with_mechanism(host, Mechanism::Bubblewrap)
        .await
        .unwrap()
}

fn hosts(blocked: &[BlockedConnection]) -> Vec<String> {
    blocked
        .iter()
        .map(|one| format!("{}:{}", one.host, one.port))
        .collect()
}
