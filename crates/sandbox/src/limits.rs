//! Upper limits of what a process tree may use, and the limit that a tree exceeded.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::profile::ProfileKind;

const GIB: u64 = 1 << 30;
const HOUR: Duration = Duration::from_secs(3600);

/// What a process tree may use. A tree that exceeds a limit is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Memory of all processes together, including private directories in memory.
    pub memory_bytes: u64,
    /// The number of concurrent processes and threads.
    pub processes: u64,
    /// What the processes write, as long as it exists: in the working directory, in private
    /// directories and in their state.
    pub disk_bytes: u64,
    /// The size of one file.
    pub file_bytes: u64,
    /// CPU time of all processes together.
    pub cpu_time: Duration,
}

impl ResourceLimits {
    /// Returns the default limits of a profile. No profile gets more than three quarters of the
    /// machine's memory.
    pub fn for_kind(kind: ProfileKind) -> Self {
        let limits = match kind {
            ProfileKind::Agent => Self {
                memory_bytes: 8 * GIB,
                processes: 4096,
                disk_bytes: 32 * GIB,
                file_bytes: 8 * GIB,
                cpu_time: 8 * HOUR,
            },
            ProfileKind::Tool => Self {
                memory_bytes: 4 * GIB,
                processes: 1024,
                disk_bytes: 16 * GIB,
                file_bytes: 2 * GIB,
                cpu_time: HOUR,
            },
            ProfileKind::Test => Self {
                memory_bytes: 8 * GIB,
                processes: 4096,
                disk_bytes: 32 * GIB,
                file_bytes: 4 * GIB,
                cpu_time: 4 * HOUR,
            },
        };
        let machine = rustix::system::sysinfo();
        let total = machine.totalram * u64::from(machine.mem_unit);
        Self {
            memory_bytes: limits.memory_bytes.min(total / 4 * 3),
            ..limits
        }
    }

    /// Returns the size of a private directory in memory.
    pub(crate) fn private_dir_bytes(&self) -> u64 {
        self.memory_bytes.min(self.disk_bytes)
    }

    /// Returns the limit of one resource as it is configured.
    pub(crate) fn exceeded(&self, resource: Resource) -> ExceededLimit {
        let gigabytes = |bytes: u64| bytes as f64 / GIB as f64;
        let limit = match resource {
            Resource::Memory => gigabytes(self.memory_bytes),
            Resource::Processes => self.processes as f64,
            Resource::Disk => gigabytes(self.disk_bytes),
            Resource::FileSize => gigabytes(self.file_bytes),
            Resource::CpuTime => self.cpu_time.as_secs_f64(),
        };
        ExceededLimit { resource, limit }
    }
}

/// Limits that replace the defaults of every profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitOverrides {
    /// Replaces [`ResourceLimits::memory_bytes`].
    pub memory_bytes: Option<u64>,
    /// Replaces [`ResourceLimits::processes`].
    pub processes: Option<u64>,
    /// Replaces [`ResourceLimits::disk_bytes`].
    pub disk_bytes: Option<u64>,
    /// Replaces [`ResourceLimits::file_bytes`].
    pub file_bytes: Option<u64>,
    /// Replaces [`ResourceLimits::cpu_time`].
    pub cpu_time: Option<Duration>,
}

impl LimitOverrides {
    /// Returns the limits of a profile.
    pub fn apply(&self, kind: ProfileKind) -> ResourceLimits {
        let limits = ResourceLimits::for_kind(kind);
        ResourceLimits {
            memory_bytes: self.memory_bytes.unwrap_or(limits.memory_bytes),
            processes: self.processes.unwrap_or(limits.processes),
            disk_bytes: self.disk_bytes.unwrap_or(limits.disk_bytes),
            file_bytes: self.file_bytes.unwrap_or(limits.file_bytes),
            cpu_time: self.cpu_time.unwrap_or(limits.cpu_time),
        }
    }
}

/// A resource with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Resource {
    /// Memory of all processes.
    Memory,
    /// The number of processes and threads.
    Processes,
    /// Space on disk.
    Disk,
    /// The size of one file.
    FileSize,
    /// CPU time of all processes.
    CpuTime,
}

impl Resource {
    /// Returns the configuration key of the limit.
    pub fn key(self) -> &'static str {
        match self {
            Self::Memory => "limits.memory_gb",
            Self::Processes => "limits.processes",
            Self::Disk => "limits.disk_gb",
            Self::FileSize => "limits.file_gb",
            Self::CpuTime => "limits.cpu_secs",
        }
    }
}

/// The limit that a process tree exceeded.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ExceededLimit {
    /// The resource.
    pub resource: Resource,
    /// The limit, in the unit of its configuration key.
    pub limit: f64,
}

impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, unit) = match self.resource {
            Resource::Memory => ("memory", " GB"),
            Resource::Processes => ("number of processes", ""),
            Resource::Disk => ("written data", " GB"),
            Resource::FileSize => ("size of a file", " GB"),
            Resource::CpuTime => ("CPU time", " s"),
        };
        // Three digits are enough, and whole numbers have none.
        let limit = (self.limit * 1000.0).round() / 1000.0;
        let key = self.resource.key();
        write!(
            f,
            "the {what} exceeded the limit of {limit}{unit}: raise `{key}`"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p26_message_names_limit_value_and_key() {
        let limits = LimitOverrides {
            memory_bytes: Some(GIB / 2),
            ..LimitOverrides::default()
        };
        let limits = limits.apply(ProfileKind::Test);
        assert_eq!(
            limits.exceeded(Resource::Memory).to_string(),
            "the memory exceeded the limit of 0.5 GB: raise `limits.memory_gb`"
        );
        assert_eq!(
            limits.exceeded(Resource::Processes).to_string(),
            "the number of processes exceeded the limit of 4096: raise `limits.processes`"
        );
    }
}
