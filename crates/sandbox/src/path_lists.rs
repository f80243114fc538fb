//! Path lists: secrets, toolchains, caches and protected files.

/// Keys, passwords and tokens in the home directory. Hidden from every kind of process.
pub(crate) const HOME_SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/google-chrome",
    ".config/chromium",
    ".docker",
    ".kube",
    ".mozilla",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".password-store",
    ".local/share/keyrings",
    ".bash_history",
    ".zsh_history",
    ".python_history",
];

/// Secrets of the system that root could read, and directories with sockets that lead out of the
/// sandbox.
pub(crate) const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/ssh",
    "/etc/ssl/private",
    "/run",
];

/// Parts of `/run` that name resolution and some distributions need.
pub(crate) const RUN_NEEDED: &[&str] = &[
    "/run/systemd/resolve",
    "/run/current-system",
    "/run/opengl-driver",
];

/// Temporary directories. Every process has its own.
pub(crate) const TEMP_DIRS: &[&str] = &["/tmp", "/var/tmp"];

/// Home directories of all users, hidden from tools and tests.
pub(crate) const HOME_ROOTS: &[&str] = &["/home", "/root"];

/// Programs in the home directory, readable by tools and tests.
pub(crate) const TOOLCHAINS: &[&str] = &[
    ".cargo",
    ".rustup",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/uv",
    ".pyenv",
    ".nvm",
    ".volta",
    ".asdf",
    ".bun",
    ".deno",
    ".sdkman",
    ".nix-profile",
    "go",
];

/// Caches of build tools in the home directory, readable by tests.
pub(crate) const BUILD_CACHES: &[&str] = &[
    ".npm",
    ".cache/pip",
    ".cache/uv",
    ".cache/yarn",
    ".cache/go-build",
    ".local/share/pnpm",
    ".m2/repository",
    ".gradle",
];

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
