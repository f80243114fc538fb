//! A disk that is full while a change lands: the checkout stays as it was, and the change lands later.

use assert_cmd::Command;
use serde_json::Value;

use super::cli_harness::Run;
use super::task_harness::TaskHarness;

/// The change needs more space than is left on the disk of the repository.
const SCRIPT: &str = r#"
small="$ROOT/small"
mkdir "$small"
mount -t tmpfs -o size=8m tmpfs "$small"
cp -R "$ROOT/project" "$small/project"
cd "$small/project"
run() {
    name=$1
    shift
    code=0
    timeout 120 "$PROGRAM" --config "$ROOT/named.toml" "$@" >"$OUT/$name.stdout" 2>"$OUT/$name.stderr" || code=$?
    echo "$code" >"$OUT/$name.code"
    git status --porcelain >"$OUT/$name.status"
    git rev-parse main >"$OUT/$name.main"
}
run add task add 'Write a large file' --json
run worker worker --once
cat /dev/zero >"$small/ballast" 2>/dev/null || true
truncate -s -200k "$small/ballast"
run full land 1 --json
rm "$small/ballast"
run land land 1 --json
wc -c <large.txt >"$OUT/size"
"#;

const TEST: &str = "test -f large.txt && echo '1 passed, 0 failed'";

/// The text of this file does not compress.
const LARGE: &str = r#"{"turns": [
  {"when": {"turn": 1}, "or_more": true, "answer": [{"shell": {"command":
    "echo changed > greet.sh; head -c 1000000 /dev/urandom | base64 > large.txt"}}]},
  {"or_more": true, "answer": [{"text": "Done."}]}
]}"#;

#[test]
fn landing_on_a_full_disk_leaves_the_checkout_as_it_was() {
    let harness = TaskHarness::new(TEST, LARGE);
    let named = harness.path("named.toml");
    // A user namespace inside of another one is not what is tested here.
    let config = std::fs::read_to_string(&named).unwrap();
    std::fs::write(&named, format!("{config}[sandbox]\nmechanism = \"none\"\n")).unwrap();
    let out = harness.path("out");
    std::fs::create_dir(&out).unwrap();
    let mut command = Command::new("unshare");
    command
        .args(["-Urm", "sh", "-euc", SCRIPT])
        .env_clear()
        .env("HOME", harness.home())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("PROGRAM", assert_cmd::cargo::cargo_bin("windlass"))
        .env("ROOT", harness.path(""))
        .env("OUT", &out)
        .current_dir(harness.project());
    let ran = Run::of(&mut command);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let all = |name: &str| {
        format!(
            "{}{}",
            read(&format!("{name}.stdout")),
            read(&format!("{name}.stderr"))
        )
    };
    assert_eq!(read("worker.code").trim(), "0", "{}", all("worker"));

    assert_eq!(read("full.code").trim(), "3", "{}", all("full"));
    let full: Value = serde_json::from_str(&read("full.stdout")).unwrap();
    assert_eq!(full[0]["status"], "waits", "{full}");
    assert_eq!(read("full.main"), read("worker.main"), "{full}");
    assert_eq!(read("full.status"), "", "{full}");

    assert_eq!(read("land.code").trim(), "0", "{}", all("land"));
    let landed: Value = serde_json::from_str(&read("land.stdout")).unwrap();
    assert_eq!(landed[0]["commit"], read("land.main").trim(), "{landed}");
    assert_eq!(read("land.status"), "");
    assert!(read("size").trim().parse::<u64>().unwrap() > 1_000_000);
}
