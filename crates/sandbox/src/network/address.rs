//! Which addresses a name may have.

use std::net::{IpAddr, Ipv6Addr};

/// Returns `true` if a name may have this address. A name of a public server may only have public
/// addresses: otherwise its owner could lead a process into the user's network.
pub(super) fn is_allowed(address: IpAddr, is_private: bool) -> bool {
    let address = address.to_canonical();
    !is_never_remote(address) && (is_private || !is_private_network(address))
}

/// Returns `true` for addresses of this machine, of the machine's link, and of groups. The metadata
/// service of cloud machines is one of them.
fn is_never_remote(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                || address.is_multicast()
                || address.is_broadcast()
                || address.octets()[0] == 0
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_multicast()
                || address.is_unicast_link_local()
        }
    }
}

fn is_private_network(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            address.is_private()
                // Carrier networks, benchmarks, and addresses that have no use yet.
                || (first == 100 && (64..128).contains(&second))
                || (first == 198 && (18..20).contains(&second))
                || first >= 240
        }
        IpAddr::V6(address) => address.is_unique_local() || embeds_v4(address),
    }
}

/// Returns `true` for addresses that lead to an address of version 4: translation (`64:ff9b::/96`)
/// and tunnels (`2002::/16`, `2001::/32`).
fn embeds_v4(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    segments[0] == 0x2002
        || (segments[0] == 0x2001 && segments[1] == 0)
        || (segments[0] == 0x64 && segments[1] == 0xff9b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p16_public_name_cannot_have_an_internal_address() {
        let allowed = |text: &str, is_private| is_allowed(text.parse().unwrap(), is_private);
        for never in [
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "::ffff:127.0.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "::",
            "fe80::1",
            "224.0.0.1",
            "255.255.255.255",
            "0.1.2.3",
        ] {
            assert!(!allowed(never, true) && !allowed(never, false), "{never}");
        }
        for private in [
            "10.0.0.1",
            "192.168.1.1",
            "172.16.0.1",
            "::ffff:10.0.0.1",
            "fd00::1",
            "100.64.0.1",
            "198.18.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "240.0.0.1",
        ] {
            assert!(
                allowed(private, true) && !allowed(private, false),
                "{private}"
            );
        }
        for public in ["93.184.216.34", "2606:4700::1"] {
            assert!(allowed(public, true) && allowed(public, false), "{public}");
        }
    }
}
