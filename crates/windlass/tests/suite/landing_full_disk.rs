//! A disk that is full while a change lands: the checkout stays as it was, and the change lands later.

use serde_json::Value;

use super::full_disk::FullDisk;
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
    timeout 120 "$PROGRAM" --config "$CONFIG" "$@" >"$OUT/$name.stdout" 2>"$OUT/$name.stderr" || code=$?
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
    let disk = FullDisk::run_script(TaskHarness::new(TEST, LARGE), SCRIPT);
    let (worker, full, land) = (disk.run("worker"), disk.run("full"), disk.run("land"));
    assert_eq!(worker.code, 0, "{worker:?}");

    assert_eq!(full.code, 3, "{full:?}");
    let report: Value = serde_json::from_str(&full.stdout).unwrap();
    assert_eq!(report[0]["status"], "waits", "{report}");
    assert_eq!(
        disk.output("full.main"),
        disk.output("worker.main"),
        "{report}"
    );
    assert_eq!(disk.output("full.status"), "", "{report}");

    assert_eq!(land.code, 0, "{land:?}");
    let report: Value = serde_json::from_str(&land.stdout).unwrap();
    assert_eq!(
        report[0]["commit"],
        disk.output("land.main").trim(),
        "{report}"
    );
    assert_eq!(disk.output("land.status"), "");
    assert!(disk.output("size").trim().parse::<u64>().unwrap() > 1_000_000);
}
