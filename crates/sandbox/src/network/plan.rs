//! How a process reaches its allowed hosts: the ports, names and variables in its namespace.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};

use super::HostRule;
use super::host_rule::HostPattern;
use crate::environment::EnvVars;
use crate::error::{Error, Result};

/// Name of this machine. Rules for it lead to the real machine, at their port only.
pub(super) const LOCALHOST: &str = "localhost";
/// The first port that is tried for the proxy inside of the namespace, where all ports are unused.
const FIRST_PROXY_PORT: u16 = 3128;
/// The kernel passes at most 253 listeners in one message.
const MAX_PORTS: usize = 200;
/// Names get addresses in `127.0.1.0/24` and the networks that follow.
const FIRST_HOST: u32 = 0x7f00_0101;

/// Variables that name a proxy. Programs read different ones.
const PROXY_VARS: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// The network of one process with allowed hosts.
#[derive(Debug, Clone)]
pub(crate) struct NetworkPlan {
    pub(super) rules: Vec<HostRule>,
    /// The ports on which connections are accepted.
    ports: Vec<u16>,
    pub(super) proxy_port: u16,
    /// The names of single hosts, with their addresses inside of the namespace.
    pub(super) names: Vec<(Ipv4Addr, String)>,
}

impl NetworkPlan {
    pub(crate) fn new(rules: &[HostRule]) -> Result<Self> {
        let ports: BTreeSet<u16> = rules.iter().map(|rule| rule.port).collect();
        if ports.len() > MAX_PORTS {
            return Err(Error::Network(format!(
                "{} different ports are allowed, and the maximum is {MAX_PORTS}",
                ports.len()
            )));
        }
        let mut unused = (FIRST_PROXY_PORT..).filter(|port| !ports.contains(port));
        let proxy_port = unused.next().unwrap_or(FIRST_PROXY_PORT);
        let names: BTreeSet<&str> = rules
            .iter()
            .filter_map(HostRule::name)
            .filter(|name| *name != LOCALHOST)
            .collect();
        let names = names.into_iter().map(str::to_owned);
        Ok(Self {
            rules: rules.to_vec(),
            ports: ports.into_iter().collect(),
            proxy_port,
            names: (FIRST_HOST..).map(Ipv4Addr::from_bits).zip(names).collect(),
        })
    }

    /// Returns the ports on which the init process listens. The last one is the proxy's.
    pub(crate) fn listeners(&self) -> Vec<u16> {
        let proxy = std::iter::once(self.proxy_port);
        self.ports.iter().copied().chain(proxy).collect()
    }

    /// Returns the content of `/etc/hosts`.
    pub(crate) fn hosts_file(&self) -> String {
        let names = self.names.iter();
        let lines = names.map(|(address, name)| format!("{address} {name}\n"));
        std::iter::once("127.0.0.1 localhost\n".to_owned())
            .chain(lines)
            .collect()
    }

    /// Points programs to the proxy, except for hosts that they reach directly.
    pub(crate) fn set_variables(&self, variables: &mut EnvVars) {
        let proxy = format!("http://127.0.0.1:{}", self.proxy_port);
        let direct = self.rules.iter().filter_map(|rule| match &rule.pattern {
            HostPattern::Name(name) => Some(name.clone()),
            HostPattern::Below(_) => None,
            HostPattern::Address(address) => Some(address.to_string()),
        });
        let local = [LOCALHOST, "127.0.0.1", "::1"].map(str::to_owned);
        let direct: BTreeSet<String> = local.into_iter().chain(direct).collect();
        let direct: Vec<String> = direct.into_iter().collect();
        let proxies = PROXY_VARS.iter().map(|name| (*name, proxy.clone()));
        for (name, value) in proxies.chain([("NO_PROXY", direct.join(","))]) {
            for name in [name.to_owned(), name.to_ascii_lowercase()] {
                variables.insert(OsString::from(name), OsString::from(&value));
            }
        }
    }

    /// Returns the host that a process connected to, by the address that it used.
    pub(super) fn host_at(&self, address: IpAddr, port: u16) -> String {
        let named = |(at, _): &&(Ipv4Addr, String)| IpAddr::V4(*at) == address;
        if let Some((_, name)) = self.names.iter().find(named) {
            return name.clone();
        }
        let is_localhost = |rule: &HostRule| rule.allows(LOCALHOST, port);
        if address.is_loopback() && self.rules.iter().any(is_localhost) {
            return LOCALHOST.to_owned();
        }
        address.to_string()
    }

    pub(super) fn rule_for(&self, host: &str, port: u16) -> Option<&HostRule> {
        self.rules.iter().find(|rule| rule.allows(host, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rules: &[&str]) -> NetworkPlan {
        let rules: Vec<HostRule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        NetworkPlan::new(&rules).unwrap()
    }

    #[test]
    fn names_get_addresses_of_their_own() {
        let plan = plan(&[
            "b.example:443",
            "a.example:80",
            "a.example:443",
            "*.c.example:3128",
        ]);
        assert_eq!(
            plan.hosts_file(),
            "127.0.0.1 localhost\n127.0.1.1 a.example\n127.0.1.2 b.example\n"
        );
        assert_eq!(plan.listeners(), [80, 443, 3128, 3129]);
        assert_eq!(plan.host_at("127.0.1.2".parse().unwrap(), 443), "b.example");
        assert_eq!(plan.host_at("10.0.0.1".parse().unwrap(), 443), "10.0.0.1");
    }

    #[test]
    fn loopback_is_reached_under_the_name_of_its_rule() {
        let by_name = plan(&["localhost:8080"]);
        assert_eq!(by_name.host_at([127, 0, 0, 1].into(), 8080), "localhost");
        let by_address = plan(&["127.0.0.1:8080"]);
        assert_eq!(by_address.host_at([127, 0, 0, 1].into(), 8080), "127.0.0.1");
    }

    #[test]
    fn proxy_is_not_used_for_hosts_with_a_listener() {
        let mut variables = EnvVars::new();
        plan(&["api.example:443", "*.example:443"]).set_variables(&mut variables);
        let value = |name: &str| {
            variables[&OsString::from(name)]
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(value("https_proxy"), "http://127.0.0.1:3128");
        assert_eq!(value("NO_PROXY"), "127.0.0.1,::1,api.example,localhost");
    }
}
