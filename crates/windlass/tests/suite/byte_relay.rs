//! A relay that keeps the bytes of both directions.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;

/// What was sent on one connection, and what was answered.
type Streams = (Vec<u8>, Vec<u8>);

/// Passes bytes on to a server, and keeps them.
pub(crate) struct ByteRelay {
    pub(crate) port: u16,
    streams: Arc<Mutex<Vec<Streams>>>,
}

impl ByteRelay {
    /// Starts a relay to the host and port of a URL. It ends with the test's process.
    pub(crate) fn start(url: &str) -> Self {
        let upstream = url.strip_prefix("http://").unwrap();
        let upstream = upstream.split('/').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let streams: Arc<Mutex<Vec<Streams>>> = Arc::default();
        let kept = Arc::clone(&streams);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&upstream).unwrap();
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let number = {
                    let mut kept = kept.lock();
                    kept.push(Streams::default());
                    kept.len() - 1
                };
                let (sent, answered) = (Arc::clone(&kept), Arc::clone(&kept));
                std::thread::spawn(move || {
                    copy(from, to, |bytes| sent.lock()[number].0.extend(bytes));
                });
                std::thread::spawn(move || {
                    copy(server, client, |bytes| {
                        answered.lock()[number].1.extend(bytes)
                    });
                });
            }
        });
        Self { port, streams }
    }

    /// Returns the bytes of each connection so far.
    pub(crate) fn streams(&self) -> Vec<Streams> {
        self.streams.lock().clone()
    }

    /// Returns the bodies of all requests and of all responses so far, each in order of its bytes.
    pub(crate) fn bodies(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut requests, mut responses) = (Vec::new(), Vec::new());
        for (sent, answered) in self.streams() {
            requests.extend(bodies(&sent));
            responses.extend(bodies(&answered));
        }
        requests.sort();
        responses.sort();
        (requests, responses)
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, keep: impl Fn(&[u8])) {
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        keep(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Returns the bodies of the HTTP messages of one direction that are not empty, without the lengths of chunks.
fn bodies(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some(head) = take_until(&mut bytes, b"\r\n\r\n") {
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        let field = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(':'));
            lines.find_map(|(found, value)| (found == name).then(|| value.trim().to_owned()))
        };
        let body = match field("content-length") {
            Some(length) => take(&mut bytes, length.parse().unwrap()).to_vec(),
            None if field("transfer-encoding").is_some() => take_chunks(&mut bytes),
            None => Vec::new(),
        };
        found.push(body);
    }
    found.retain(|body| !body.is_empty());
    found
}

fn take_chunks(bytes: &mut &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(length) = take_until(bytes, b"\r\n") {
        let length = str::from_utf8(length).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        body.extend(take(bytes, length));
        take_until(bytes, b"\r\n");
        if length == 0 {
            break;
        }
    }
    body
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> &'b [u8] {
    let (taken, rest) = bytes.split_at(count.min(bytes.len()));
    *bytes = rest;
    taken
}

/// Takes the bytes in front of a mark, and the mark.
fn take_until<'b>(bytes: &mut &'b [u8], mark: &[u8]) -> Option<&'b [u8]> {
    let end = memchr::memmem::find(bytes, mark)?;
    let taken = take(bytes, end);
    take(bytes, mark.len());
    Some(taken)
}

#[test]
fn bodies_are_found_in_the_bytes_of_a_connection() {
    let bytes = b"POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n\
        POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\nPOST / HT";
    assert_eq!(bodies(bytes), [b"abc".to_vec(), b"def".to_vec()]);
}
