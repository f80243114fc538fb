//! Prepares the network namespace of the command, and opens listeners in it for the parent.
//!
//! `unshare` has created the namespace, and the init process has all rights in it. The command is
//! in another user namespace and has none.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, sendto, socket};

use crate::init_protocol;

/// The index of the loopback device, which is the first one of every namespace.
const LOOPBACK: u32 = 1;

const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_CREATE: u16 = 0x400;
const RTM_NEWLINK: u16 = 16;
const RTM_NEWROUTE: u16 = 24;
const IFF_UP: u32 = 1;
const RTA_OIF: u16 = 4;
const RT_TABLE_LOCAL: u8 = 255;
const RTPROT_BOOT: u8 = 3;
const RT_SCOPE_HOST: u8 = 254;
const RTN_LOCAL: u8 = 2;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// Turns the loopback device on. If there are ports, makes every address lead to this machine,
/// listens on the ports, and sends the listeners to the parent.
pub(super) fn prepare(ports: &[u16], parent: Option<OwnedFd>) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot set up the network namespace: {error}");
    turn_on_loopback().map_err(failed)?;
    let Some(parent) = parent else {
        return Ok(());
    };
    route_to_loopback(AF_INET).map_err(failed)?;
    // The kernel may have no IPv6.
    let _ = route_to_loopback(AF_INET6);
    let listeners: io::Result<Vec<OwnedFd>> = ports.iter().map(|&port| listen(port)).collect();
    init_protocol::send_listeners(parent, &listeners.map_err(failed)?).map_err(failed)
}

/// Listens on all addresses.
fn listen(port: u16) -> io::Result<OwnedFd> {
    let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    TcpListener::bind(both)
        .or_else(|_| TcpListener::bind(v4))
        .map(OwnedFd::from)
}

fn turn_on_loopback() -> io::Result<()> {
    let mut body = vec![0; 4];
    for number in [LOOPBACK, IFF_UP, IFF_UP] {
        body.extend(number.to_ne_bytes());
    }
    request(RTM_NEWLINK, 0, &body)
}

fn route_to_loopback(family: u8) -> io::Result<()> {
    let mut body = vec![
        family,
        0,
        0,
        0,
        RT_TABLE_LOCAL,
        RTPROT_BOOT,
        RT_SCOPE_HOST,
        RTN_LOCAL,
    ];
    body.extend([0; 4]);
    body.extend(8_u16.to_ne_bytes());
    body.extend(RTA_OIF.to_ne_bytes());
    body.extend(LOOPBACK.to_ne_bytes());
    request(RTM_NEWROUTE, NLM_F_CREATE, &body)
}

/// Sends one request to the kernel's routing service and waits for its answer.
fn request(kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(16 + body.len()).unwrap_or_default();
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK | flags).to_ne_bytes());
    // The sequence number and the sender.
    message.extend([0; 8]);
    message.extend(body);
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&socket, &message, SendFlags::empty(), &kernel)?;
    let mut answer = [0; 256];
    let (count, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    match answer.get(..count) {
        Some([_, _, _, _, low, high, ..]) if u16::from_ne_bytes([*low, *high]) == NLMSG_ERROR => {
            let code: [u8; 4] = answer[16..20].try_into().unwrap_or_default();
            match i32::from_ne_bytes(code) {
                0 => Ok(()),
                code => Err(io::Error::from_raw_os_error(-code)),
            }
        }
        _ => Err(io::Error::other("the kernel's answer is invalid")),
    }
}
