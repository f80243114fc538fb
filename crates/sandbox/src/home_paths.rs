//! What a process sees of the home directory, as one table. Everything that is not listed is absent.

use crate::profile::ProfileKind::{self, Agent, Test, Tool};

/// Paths in the home directory that are readable for the same reason.
#[derive(Debug, Clone, Copy)]
pub struct HomePaths {
    /// What the paths contain.
    pub content: &'static str,
    /// The kinds of processes that can read them.
    pub kinds: &'static [ProfileKind],
    /// The paths, relative to the home directory.
    pub paths: &'static [&'static str],
}

const ALL: &[ProfileKind] = &[Agent, Tool, Test];

/// The readable paths of the home directory. A missing path is not an error.
pub const HOME_PATHS: &[HomePaths] = &[
    HomePaths {
        content: "programs of the user",
        kinds: ALL,
        paths: &["bin", ".local/bin", ".local/lib", ".local/opt"],
    },
    HomePaths {
        content: "Rust",
        kinds: ALL,
        paths: &[".cargo", ".rustup"],
    },
    HomePaths {
        content: "Python",
        kinds: ALL,
        paths: &[
            ".pyenv",
            ".virtualenvs",
            ".rye",
            ".pixi",
            ".conda/envs",
            ".conda/pkgs",
            "miniconda3",
            "anaconda3",
            "miniforge3",
            "mambaforge",
            "micromamba",
            ".local/pipx",
            ".local/share/pipx",
            ".local/share/uv",
            ".local/share/virtualenvs",
            ".local/share/hatch",
            ".local/share/pypoetry",
        ],
    },
    HomePaths {
        content: "JavaScript",
        kinds: ALL,
        paths: &[
            ".nvm",
            ".volta",
            ".fnm",
            ".nodenv",
            ".n",
            ".bun",
            ".deno",
            ".npm-global",
            ".npm-packages",
            ".local/share/fnm",
            ".local/share/nvm",
            ".local/state/fnm_multishells",
            ".local/share/pnpm",
        ],
    },
    HomePaths {
        content: "Go",
        kinds: ALL,
        // Not `go/src`, which contains projects.
        paths: &["go/bin", "go/pkg", ".goenv", ".gvm"],
    },
    HomePaths {
        content: "Java, Kotlin, Scala, Android",
        kinds: ALL,
        paths: &[
            ".sdkman",
            ".jenv",
            ".jbang",
            ".jdks",
            ".gradle/wrapper",
            ".gradle/jdks",
            ".m2/wrapper",
            ".konan",
            ".local/share/coursier",
            "Android/Sdk",
        ],
    },
    HomePaths {
        content: "other languages",
        kinds: ALL,
        paths: &[
            ".rbenv",
            ".rvm",
            ".gem",
            ".dotnet",
            ".ghcup",
            ".stack/programs",
            ".cabal/bin",
            ".opam",
            ".elan",
            ".julia",
            ".juliaup",
            ".kiex",
            ".mix",
            ".swiftly",
            ".local/share/swiftly",
            ".zvm",
            ".foundry",
            ".wasmtime",
            ".wasmer",
            ".pub-cache",
        ],
    },
    HomePaths {
        content: "version managers",
        kinds: ALL,
        paths: &[
            ".asdf",
            ".asdfrc",
            ".tool-versions",
            ".local/share/mise",
            ".config/mise/config.toml",
            ".proto",
            ".nix-profile",
            ".local/state/nix/profiles",
            ".guix-profile",
        ],
    },
    HomePaths {
        content: "caches of build tools",
        kinds: &[Agent, Test],
        paths: &[
            ".npm",
            ".yarn/berry/cache",
            ".pnpm-store",
            ".cache/pip",
            ".cache/uv",
            ".cache/pypoetry",
            ".cache/yarn",
            ".cache/node-gyp",
            ".cache/go-build",
            ".cache/coursier",
            ".cache/ms-playwright",
            ".cache/puppeteer",
            ".cache/Cypress",
            ".m2/repository",
            ".gradle/caches",
            ".ivy2/cache",
            ".sbt/boot",
            ".cabal/packages",
            ".cabal/store",
            ".stack/snapshots",
            ".nuget/packages",
            ".bundle/cache",
        ],
    },
    HomePaths {
        content: "git identity and settings",
        kinds: &[Agent],
        paths: &[".gitconfig", ".config/git"],
    },
];

/// Secrets, hidden from every process even if a directory around them is readable, for example
/// because the home directory is the working directory. Only the setting `readable` makes one of
/// them visible, if it names it.
pub const HOME_SECRETS: &[&str] = &[
    // Keys and passwords.
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".kde/share/apps/kwallet",
    ".config/sops",
    ".config/age",
    ".age",
    ".1password",
    ".config/op",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/keepassxc",
    ".vault-token",
    ".Xauthority",
    ".ICEauthority",
    ".pki",
    // Clouds, containers and infrastructure.
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".config/fly",
    ".fly",
    ".config/heroku",
    ".oci",
    ".kube",
    ".helm",
    ".config/helm",
    ".docker",
    ".config/containers",
    ".colima",
    ".lima",
    ".terraform.d",
    ".terraformrc",
    ".pulumi",
    ".config/rclone",
    ".s3cfg",
    ".boto",
    // Code hosting, registries and databases.
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/github-copilot",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pip",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".bundle/config",
    ".hex",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet",
    ".composer/auth.json",
    ".config/composer",
    ".pub-cache/credentials.json",
    ".config/dart",
    ".julia/servers",
    ".conda/.condarc",
    ".condarc",
    ".cache/huggingface/token",
    ".huggingface",
    ".kaggle",
    ".pgpass",
    ".pg_service.conf",
    ".my.cnf",
    ".mylogin.cnf",
    // Browsers and mail.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".librewolf",
    "snap",
    ".var",
    // Histories.
    ".bash_history",
    ".zsh_history",
    ".zhistory",
    ".histfile",
    ".local/share/fish",
    ".sh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    ".lesshst",
    ".viminfo",
    ".local/share/atuin",
    ".local/share/recently-used.xbel",
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A readable path below a secret would make a part of the secret visible.
    #[test]
    fn p16_no_readable_path_is_a_secret_or_inside_one() {
        for row in HOME_PATHS {
            for path in row.paths {
                let mut above = Path::new(path).ancestors();
                let secret = above.find(|above| {
                    HOME_SECRETS
                        .iter()
                        .any(|secret| Path::new(secret) == *above)
                });
                assert_eq!(secret, None, "{path}");
            }
        }
    }

    #[test]
    fn every_path_is_listed_once_and_relative() {
        let readable = HOME_PATHS.iter().flat_map(|row| row.paths);
        let mut all: Vec<&str> = readable.chain(HOME_SECRETS).copied().collect();
        assert!(all.iter().all(|path| Path::new(path).is_relative()));
        all.sort_unstable();
        let listed = all.len();
        all.dedup();
        assert_eq!(all.len(), listed);
    }
}
