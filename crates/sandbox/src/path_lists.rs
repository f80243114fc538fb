//! The lists: what is secret, what a toolchain is, and what no process may change.

/// Under the home folder: keys, passwords and tokens. Hidden from every kind of process.
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

/// Secrets of the machine that root could read, and folders full of sockets that lead out.
pub(crate) const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/ssh",
    "/etc/ssl/private",
    "/run",
];

/// What name look-ups and some distributions need of `/run`.
pub(crate) const RUN_NEEDED: &[&str] = &[
    "/run/systemd/resolve",
    "/run/current-system",
    "/run/opengl-driver",
];

/// Folders for temporary files, of which every process has its own.
pub(crate) const TEMP_DIRS: &[&str] = &["/tmp", "/var/tmp"];

/// Homes of all users, hidden from tools and tests.
pub(crate) const HOME_ROOTS: &[&str] = &["/home", "/root"];

/// Under the home folder: programs, readable by tools and tests.
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

/// Under the home folder: what build tools have fetched before, readable by tests.
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

/// In a working directory: what a shell, git, an editor or an agent obeys.
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

/// Where the kernel takes orders; root could write there even without capabilities.
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
