//! Blocks the network without a network namespace: a seccomp filter on socket creation.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

const AF_UNIX: u64 = 1;
const EPERM: u32 = 1;

/// Set in the number of a system call that uses the x32 ABI of an x86-64 kernel.
const X32: i64 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
const SOCKET: i64 = 41;
#[cfg(not(target_arch = "x86_64"))]
const SOCKET: i64 = 198;
/// io_uring requests can create sockets without the filtered call.
const IO_URING_SETUP: i64 = 425;

/// Forbids this thread and every process it starts to create network sockets, and Unix sockets too
/// unless `unix_sockets` is set.
pub(crate) fn restrict_sockets(
    network: bool,
    unix_sockets: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    if network {
        return Ok(());
    }
    let forbidden = if unix_sockets {
        vec![non_unix_rule()?]
    } else {
        Vec::new()
    };
    let calls = [(SOCKET, forbidden), (IO_URING_SETUP, Vec::new())];
    let rules: BTreeMap<i64, Vec<SeccompRule>> = calls
        .into_iter()
        .flat_map(|(call, rules)| [(call, rules.clone()), (call | X32, rules)])
        .collect();
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(EPERM),
        std::env::consts::ARCH.try_into()?,
    )?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)?;
    Ok(())
}

fn non_unix_rule() -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, AF_UNIX)?;
    SeccompRule::new(vec![condition])
}
