//! PostgreSQL over TLS.

use std::net::TcpListener;
use std::path::Path;

use tempfile::TempDir;
use windlass_tasks::{NewProject, StoreError};

use super::cluster::Cluster;

/// Creates a certificate authority and a certificate for `localhost`.
const CREATE_CERTIFICATES: &str = r#"
set -e
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=tests \
    -keyout authority.key -out authority.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout key.pem -out request.pem
printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n' > extensions
openssl x509 -req -in request.pem -CA authority.pem -CAkey authority.key -days 2 -extfile extensions -out cert.pem
# PostgreSQL rejects a key that others may read.
if [ "$(id -u)" = 0 ]; then chmod 755 . && chown postgres key.pem; fi
chmod 600 key.pem
"#;

fn create_certificates(dir: &Path) {
    let output = assert_cmd::Command::new("sh")
        .args(["-c", CREATE_CERTIFICATES])
        .current_dir(dir)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
}

/// Starts a cluster that accepts TLS connections, and returns it with the part of its URL after `postgres@`.
fn cluster(dir: &Path) -> (Cluster, String) {
    create_certificates(dir);
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let certificates = dir.display();
    let settings = [
        "ssl=on".to_owned(),
        format!("ssl_cert_file={certificates}/cert.pem"),
        format!("ssl_key_file={certificates}/key.pem"),
        "listen_addresses=localhost".to_owned(),
        format!("port={port}"),
    ];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let cluster = Cluster::start("encrypted", &settings);
    (cluster, format!("localhost:{port}/postgres"))
}

#[tokio::test]
async fn connection_is_encrypted_and_certificate_is_verified() {
    let dir = TempDir::with_prefix("windlass-tls-").unwrap();
    let (_cluster, address) = cluster(dir.path());
    let authority = dir.path().join("authority.pem");
    let trusted = format!(
        "postgres://postgres@{address}?sslmode=verify-full&sslrootcert={}",
        authority.display()
    );
    let store = windlass_store::open(&trusted).await.unwrap();
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    store.add_project(project).await.unwrap();

    let untrusted = format!("postgres://postgres@{address}?sslmode=verify-full");
    let Err(error) = windlass_store::open(&untrusted).await else {
        panic!("a certificate of an unknown issuer was accepted");
    };
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("UnknownIssuer"), "{message}");
}
