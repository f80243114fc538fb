//! PostgreSQL over an encrypted line.

use std::net::TcpListener;
use std::path::Path;

use tempfile::TempDir;
use windlass_core::task::{NewProject, StoreError};

use super::cluster::Cluster;

/// An authority, and what it signed for `localhost`.
const MAKE: &str = r#"
set -e
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=tests \
    -keyout authority.key -out authority.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout key.pem -out request.pem
printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n' > extensions
openssl x509 -req -in request.pem -CA authority.pem -CAkey authority.key -days 2 -extfile extensions -out cert.pem
# PostgreSQL takes no key that others may read.
if [ "$(id -u)" = 0 ]; then chmod 755 . && chown postgres key.pem; fi
chmod 600 key.pem
"#;

fn papers(folder: &Path) {
    let made = assert_cmd::Command::new("sh")
        .args(["-c", MAKE])
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}");
}

/// A cluster that only takes encrypted lines, and what comes after `postgres@` in its address.
fn cluster(folder: &Path) -> (Cluster, String) {
    papers(folder);
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let papers = folder.display();
    let settings = [
        "ssl=on".to_owned(),
        format!("ssl_cert_file={papers}/cert.pem"),
        format!("ssl_key_file={papers}/key.pem"),
        "listen_addresses=localhost".to_owned(),
        format!("port={port}"),
    ];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let cluster = Cluster::start("encrypted", &settings);
    (cluster, format!("localhost:{port}/postgres"))
}

#[tokio::test]
async fn a_line_is_encrypted_and_the_other_side_is_who_it_says() {
    let folder = TempDir::with_prefix("windlass-tls-").unwrap();
    let (_cluster, place) = cluster(folder.path());
    let authority = folder.path().join("authority.pem");
    let known = format!(
        "postgres://postgres@{place}?sslmode=verify-full&sslrootcert={}",
        authority.display()
    );
    let store = windlass_store::open(&known).await.unwrap();
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    store.add_project(project).await.unwrap();

    let stranger = format!("postgres://postgres@{place}?sslmode=verify-full");
    let Err(refused) = windlass_store::open(&stranger).await else {
        panic!("a certificate that nobody vouches for was taken");
    };
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    let said = refused.to_string();
    assert!(said.contains("UnknownIssuer"), "{said}");
}
