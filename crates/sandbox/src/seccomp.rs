//! System calls that a process may not make, as seccomp filters.
//!
//! The lists name calls that reach other processes, keys or the kernel itself, and that neither
//! builds nor tests need. Files and the network are restricted elsewhere.

use std::collections::BTreeMap;

use libc::{
    SYS_add_key, SYS_bpf, SYS_clone, SYS_clone3, SYS_fsconfig, SYS_fsmount, SYS_fsopen, SYS_fspick,
    SYS_io_uring_enter, SYS_io_uring_register, SYS_io_uring_setup, SYS_ioctl, SYS_kexec_file_load,
    SYS_kexec_load, SYS_keyctl, SYS_mount, SYS_mount_setattr, SYS_move_mount, SYS_open_tree,
    SYS_perf_event_open, SYS_pidfd_getfd, SYS_pivot_root, SYS_process_vm_readv,
    SYS_process_vm_writev, SYS_ptrace, SYS_request_key, SYS_setns, SYS_socket, SYS_umount2,
    SYS_unshare, SYS_userfaultfd,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, sock_filter,
};
use serde::{Deserialize, Serialize};

use crate::profile::ProfileKind;

/// Calls that no sandboxed process may make.
const DENIED_ALWAYS: &[i64] = &[
    SYS_add_key,
    SYS_bpf,
    SYS_kexec_file_load,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_pidfd_getfd,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_request_key,
    SYS_userfaultfd,
];

/// Calls that tools and tests may not make. An agent needs some of them for its own sandbox.
const DENIED_TO_TOOLS: &[i64] = &[
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_pivot_root,
    SYS_ptrace,
    SYS_setns,
    SYS_umount2,
];

/// Calls that are denied to every sandboxed process if one argument has this value. The kernel
/// reads only the lower half of these arguments.
const DENIED_VALUES: &[(i64, u8, u64)] = &[
    // Input for the terminal outside, which would execute it.
    (SYS_ioctl, 1, libc::TIOCSTI),
    (SYS_ioctl, 1, libc::TIOCLINUX),
    // Tracing a process that did not ask for it.
    (SYS_ptrace, 0, libc::PTRACE_ATTACH as u64),
    (SYS_ptrace, 0, libc::PTRACE_SEIZE as u64),
];

/// Calls that create namespaces. Their first argument is a set of flags.
const NAMESPACE_CALLS: &[i64] = &[SYS_clone, SYS_unshare];
const CLONE_NEWUSER: u64 = libc::CLONE_NEWUSER as u64;

/// The lowest number of a system call that uses the x32 ABI of an x86-64 kernel. That ABI has
/// other numbers for some calls.
#[cfg(target_arch = "x86_64")]
const FIRST_X32_CALL: u32 = 0x4000_0000;

/// The error of a call that must look missing, so that programs use an older one.
const MISSING: u32 = libc::ENOSYS as u32;
const DENIED: u32 = libc::EPERM as u32;

/// Which calls are denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CallFilter {
    /// For an agent, which may create a sandbox itself.
    Agent,
    /// For tools and tests.
    Tool,
}

impl From<ProfileKind> for CallFilter {
    fn from(kind: ProfileKind) -> Self {
        match kind {
            ProfileKind::Agent => Self::Agent,
            ProfileKind::Tool | ProfileKind::Test => Self::Tool,
        }
    }
}

/// Which sockets a process may create.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Sockets {
    Any,
    UnixOnly,
    None,
}

/// Returns the programs of a filter. A call is allowed if all of them allow it. Each of them kills
/// a process that makes a call of another architecture.
pub(crate) fn programs(
    filter: CallFilter,
    sockets: Sockets,
) -> Result<Vec<BpfProgram>, BackendError> {
    let mut denied = Rules::default();
    denied.add_all(DENIED_ALWAYS);
    for &(call, argument, value) in DENIED_VALUES {
        denied.add_if(call, argument, SeccompCmpOp::Eq, value)?;
    }
    match sockets {
        Sockets::Any => {}
        Sockets::UnixOnly => {
            denied.add_if(SYS_socket, 0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?;
        }
        Sockets::None => denied.add_all(&[SYS_socket]),
    }
    if sockets != Sockets::Any {
        // Its requests can create sockets without the filtered call.
        denied.add_all(&[SYS_io_uring_setup]);
    }
    let mut programs = other_abis();
    if filter == CallFilter::Tool {
        denied.add_all(DENIED_TO_TOOLS);
        for &call in NAMESPACE_CALLS {
            denied.add_if(
                call,
                0,
                SeccompCmpOp::MaskedEq(CLONE_NEWUSER),
                CLONE_NEWUSER,
            )?;
        }
        // Its flags are in memory, which a filter cannot read.
        let mut missing = Rules::default();
        missing.add_all(&[SYS_clone3]);
        programs.push(missing.compile(MISSING)?);
    }
    programs.push(denied.compile(DENIED)?);
    Ok(programs)
}

/// Restricts this thread and every process it starts.
pub(crate) fn apply(
    filter: CallFilter,
    sockets: Sockets,
) -> Result<(), Box<dyn std::error::Error>> {
    for program in programs(filter, sockets)? {
        seccompiler::apply_filter(&program)?;
    }
    Ok(())
}

/// Encodes a program as the kernel and bubblewrap read it.
pub(crate) fn encode(program: &BpfProgram) -> Vec<u8> {
    let encode = |instruction: &sock_filter| {
        let [code_low, code_high] = instruction.code.to_ne_bytes();
        let [a, b, c, d] = instruction.k.to_ne_bytes();
        let (jt, jf) = (instruction.jt, instruction.jf);
        [code_low, code_high, jt, jf, a, b, c, d]
    };
    program.iter().flat_map(encode).collect()
}

/// Calls and the conditions under which they match; a call without conditions always matches.
#[derive(Default)]
struct Rules(BTreeMap<i64, Vec<SeccompRule>>);

impl Rules {
    fn add_all(&mut self, calls: &[i64]) {
        self.0.extend(calls.iter().map(|&call| (call, Vec::new())));
    }

    fn add_if(
        &mut self,
        call: i64,
        argument: u8,
        operator: SeccompCmpOp,
        value: u64,
    ) -> Result<(), BackendError> {
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
        let rule = SeccompRule::new(vec![condition])?;
        self.0.entry(call).or_default().push(rule);
        Ok(())
    }

    fn compile(self, error: u32) -> Result<BpfProgram, BackendError> {
        let filter = SeccompFilter::new(
            self.0,
            SeccompAction::Allow,
            SeccompAction::Errno(error),
            std::env::consts::ARCH.try_into()?,
        )?;
        filter.try_into()
    }
}

/// Returns a program that hides the x32 ABI. The other programs do not name its calls.
#[cfg(target_arch = "x86_64")]
fn other_abis() -> Vec<BpfProgram> {
    let instruction = |code: u32, jf: u8, k: u32| sock_filter {
        // The codes of all instructions fit.
        code: code as u16,
        jt: 0,
        jf,
        k,
    };
    vec![vec![
        // Load the number of the call, which comes first in the data of a filter.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        instruction(
            libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K,
            1,
            FIRST_X32_CALL,
        ),
        instruction(
            libc::BPF_RET | libc::BPF_K,
            0,
            libc::SECCOMP_RET_ERRNO | MISSING,
        ),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ]]
}

#[cfg(not(target_arch = "x86_64"))]
fn other_abis() -> Vec<BpfProgram> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_program_has_eight_bytes_per_instruction() {
        for program in programs(CallFilter::Tool, Sockets::None).unwrap() {
            assert_eq!(encode(&program).len(), program.len() * 8);
        }
    }
}
