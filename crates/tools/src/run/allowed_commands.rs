//! The commands that `shell_run` accepts by default.

/// The commands that `shell_run` accepts by default. A program in the workspace itself, named by a relative
/// path, needs no entry.
#[rustfmt::skip]
pub const ALLOWED_COMMANDS: &[&str] = &[
    // Inspection.
    "ls", "cat", "head", "tail", "find", "grep", "egrep", "fgrep", "rg", "fd", "tree", "stat", "file", "du", "df",
    "less", "more", "wc", "nl", "od", "xxd", "hexdump", "strings", "which", "whereis", "type", "locate", "readlink", "realpath",
    "basename", "dirname", "pwd", "date", "uname", "whoami", "id", "env", "printenv", "nproc", "ps", "hostname", "getconf",
    "md5sum", "sha1sum", "sha256sum", "cksum", "cmp",
    // Files.
    "cp", "mv", "mkdir", "touch", "ln", "chmod", "install", "mktemp", "tar", "gzip", "gunzip", "zcat", "bzip2", "xz", "zip",
    "unzip", "patch", "tee", "split", "truncate",
    // Text.
    "sort", "uniq", "diff", "comm", "join", "paste", "cut", "tr", "sed", "awk", "gawk", "mawk", "fmt", "fold", "column", "expand",
    "rev", "tac", "jq", "yq", "xmllint", "iconv", "dos2unix", "base64", "seq", "shuf", "bc", "expr", "envsubst", "printf", "echo", "yes",
    // Version control.
    "git",
    // Building.
    "make", "gmake", "cmake", "ctest", "ninja", "meson", "bazel", "buck2", "just", "task", "autoconf", "automake", "configure",
    "gcc", "g++", "cc", "c++", "clang", "clang++", "clang-format", "clang-tidy", "ld", "ar", "nm", "objdump", "pkg-config", "strip",
    "cargo", "rustc", "rustfmt", "rustup", "clippy-driver", "cargo-clippy", "cargo-fmt", "cargo-nextest",
    "go", "gofmt", "golangci-lint", "zig", "swift", "swiftc", "nim", "crystal",
    "node", "npm", "npx", "yarn", "pnpm", "bun", "deno", "tsc", "ts-node", "tsx", "eslint", "prettier", "jest", "vitest", "mocha",
    "vite", "webpack", "esbuild", "biome",
    "java", "javac", "jar", "mvn", "mvnw", "gradle", "gradlew", "kotlin", "kotlinc", "scala", "scalac", "sbt", "lein", "clojure",
    "dotnet", "msbuild", "nuget", "ruby", "gem", "bundle", "rake", "rspec", "rubocop", "php", "composer", "phpunit", "perl", "prove",
    "lua", "luac", "busted", "elixir", "mix", "erl", "erlc", "rebar3", "ghc", "cabal", "stack", "runghc", "ocaml", "dune", "opam",
    "julia", "Rscript", "R", "dart", "flutter", "shellcheck", "shfmt", "bats", "sqlite3", "protoc", "buf",
    // Python.
    "python", "python3", "pytest", "py.test", "pip", "pip3", "pipx", "uv", "uvx", "poetry", "pdm", "hatch", "tox", "nox",
    "ruff", "black", "isort", "flake8", "pylint", "mypy", "pyright", "coverage", "ipython", "pre-commit", "virtualenv",
    // Shell builtins.
    "cd", "true", "false", "test", "[", "[[", ":", "export", "unset", "set", "shopt", "source", ".", "read", "wait", "jobs", "kill",
    "sleep", "exit", "return", "break", "continue", "shift", "local", "declare", "typeset", "readonly", "let", "trap", "ulimit",
    "umask", "getopts", "mapfile", "readarray", "pushd", "popd", "dirs", "hash", "alias", "command", "exec", "eval", "builtin",
    // Commands that run other commands. Those are checked against the list too.
    "sh", "bash", "dash", "zsh", "xargs", "nice", "nohup", "timeout", "time", "stdbuf", "parallel", "watch", "script",
];
