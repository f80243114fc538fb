//! Path lists of the system: what a process sees outside the home directory, and the protected
//! files of a working directory. The list of the home directory is in `home_paths.rs`.

/// Directories of the file system root that every process can read. All others are hidden: they
/// contain homes, projects, backups and other disks.
pub(crate) const SYSTEM_DIRS: &[&str] = &[
    "bin", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libexec", "libx32", "nix", "opt", "proc",
    "run", "sbin", "snap", "sys", "tmp", "usr", "var",
];

/// What a program of the system needs to start: programs, libraries, and the files by which they are
/// found. Times are written in the local time zone.
pub(crate) const SYSTEM_PROGRAMS: &[&str] = &[
    "/bin",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/gnu",
    "/lib",
    "/lib32",
    "/lib64",
    "/libexec",
    "/libx32",
    "/nix",
    "/opt",
    "/run/current-system",
    "/sbin",
    "/usr",
];

/// The devices that every program may expect.
pub(crate) const NEEDED_DEVICES: &[&str] = &["/dev/null", "/dev/urandom"];

/// System directories of which only a part is readable.
pub(crate) const PARTLY_HIDDEN_DIRS: &[&str] = &["/run", "/var"];

/// The readable parts of these directories: what name resolution, package databases and some
/// distributions need. Only files where a directory has sockets: a process without network could
/// reach a service through one.
pub(crate) const SYSTEM_NEEDED: &[&str] = &[
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/current-system",
    "/run/opengl-driver",
    "/var/cache/fontconfig",
    "/var/lib/alternatives",
    "/var/lib/apt/lists",
    "/var/lib/ca-certificates",
    "/var/lib/dpkg",
    "/var/lib/pacman",
    "/var/lib/rpm",
    "/var/db/pkg",
];

/// Sockets of services in readable directories.
pub(crate) const SYSTEM_SOCKETS: &[&str] = &["/nix/var/nix/daemon-socket"];

/// Secrets of the system that root, or the user of the server, could read.
pub(crate) const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/private",
    "/etc/letsencrypt",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/krb5.keytab",
    "/etc/NetworkManager/system-connections",
    "/etc/docker",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/windlass",
];

/// Temporary directories. Every process has its own.
pub(crate) const TEMP_DIRS: &[&str] = &["/tmp", "/var/tmp"];

/// Where programs share memory. Every process has its own.
pub(crate) const SHARED_MEMORY: &str = "/dev/shm";

/// The message queues of the machine. Every process has its own.
pub(crate) const MESSAGE_QUEUES: &str = "/dev/mqueue";

/// Variables of toolchains that may be outside the home directory.
pub(crate) const TOOLCHAIN_VARS: &[&str] = &["CARGO_HOME", "RUSTUP_HOME"];

/// Files in a working directory that a shell, git, an editor or an agent executes or applies.
pub const PROTECTED_NAMES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".ripgreprc",
    ".mcp.json",
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".opencode",
    ".qwen",
    ".idea",
    ".vscode",
];

/// Directories of hooks that git's settings may name, protected in a user's checkout even before
/// the settings name them.
pub(crate) const HOOK_DIRS: &[&str] = &[".husky", ".githooks"];

/// The directory of a project's own store.
pub(crate) const STORE_DIR: &str = ".windlass";

/// Kernel settings, which root could write even without capabilities.
pub(crate) const KERNEL_SETTINGS: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/driver",
    "/proc/mtrr",
];
