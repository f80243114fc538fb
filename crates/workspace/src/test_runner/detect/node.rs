//! JavaScript: npm, pnpm, yarn and bun.

use serde_json::Value;

use super::project_dir::ProjectDir;
use super::proposal::{Argv, Detected, argv};

/// A package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Npm,
    Pnpm,
    Yarn,
    /// Yarn 2 and later.
    YarnBerry,
    Bun,
}

/// Runners that are started directly if there is no test script.
const RUNNERS: &[(&str, &str)] = &[
    ("vitest", "npx vitest run"),
    ("jest", "npx jest"),
    ("mocha", "npx mocha"),
    ("ava", "npx ava"),
];

pub(super) fn detect(dir: &ProjectDir) -> Option<Detected> {
    if !dir.has("package.json") {
        return None;
    }
    let package = dir.json("package.json");
    let manager = manager(dir, &package);
    let command = test_command(dir, &package, manager)?;
    Some(Detected::new(command, setup(dir, &package, manager)))
}

/// Returns the command that tests one member of the workspace in `root`.
pub(super) fn member_command(root: &ProjectDir, member: &ProjectDir) -> Option<Argv> {
    let package = member.json("package.json");
    if !has_test_script(&package) {
        return None;
    }
    let (dir, name) = (&member.name, package["name"].as_str());
    let manager = manager(root, &root.json("package.json"));
    Some(match (manager, name) {
        (Manager::Npm, _) => argv(&format!("npm test --workspace={dir}")),
        (Manager::Pnpm, _) => argv(&format!("pnpm --filter=./{dir} test")),
        (Manager::Yarn | Manager::YarnBerry, Some(name)) => {
            argv(&format!("yarn workspace {name} test"))
        }
        (Manager::Bun, Some(name)) => argv(&format!("bun run --filter={name} test")),
        (_, None) => argv(&format!("npm test --prefix={dir}")),
    })
}

/// Returns `true` if the root of a workspace has no test script, so that all tests are those of members.
pub(super) fn is_only_workspace(dir: &ProjectDir) -> bool {
    let package = dir.json("package.json");
    !workspace_patterns(dir).is_empty() && !has_test_script(&package)
}

/// Returns the patterns of the members of a workspace.
pub(super) fn workspace_patterns(dir: &ProjectDir) -> Vec<String> {
    let package = dir.json("package.json");
    let workspaces = match &package["workspaces"] {
        Value::Object(object) => object.get("packages").cloned().unwrap_or_default(),
        other => other.clone(),
    };
    let listed = workspaces.as_array().into_iter().flatten();
    let mut patterns: Vec<String> = listed
        .filter_map(|pattern| Some(pattern.as_str()?.to_owned()))
        .collect();
    patterns.extend(pnpm_patterns(&dir.text("pnpm-workspace.yaml")));
    patterns
}

/// Reads the list `packages` of a `pnpm-workspace.yaml`.
fn pnpm_patterns(text: &str) -> Vec<String> {
    let list = text
        .lines()
        .skip_while(|line| line.trim_end() != "packages:");
    let items = list
        .skip(1)
        .take_while(|line| line.trim().is_empty() || line.starts_with([' ', '-', '#']));
    let items = items.filter_map(|line| line.trim().strip_prefix('-'));
    items
        .map(|item| item.trim().trim_matches(['"', '\'']).to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

fn manager(dir: &ProjectDir, package: &Value) -> Manager {
    let named = package["packageManager"].as_str().unwrap_or_default();
    let is_berry = || {
        dir.has(".yarnrc.yml")
            || dir.text("yarn.lock").contains("__metadata:")
            || named.starts_with("yarn@") && !named.starts_with("yarn@1")
    };
    match () {
        () if dir.has("pnpm-lock.yaml") => Manager::Pnpm,
        () if dir.has("yarn.lock") && is_berry() => Manager::YarnBerry,
        () if dir.has("yarn.lock") => Manager::Yarn,
        () if dir.has("bun.lock") || dir.has("bun.lockb") => Manager::Bun,
        () if dir.has("package-lock.json") || dir.has("npm-shrinkwrap.json") => Manager::Npm,
        () if named.starts_with("pnpm@") => Manager::Pnpm,
        () if named.starts_with("yarn@") && is_berry() => Manager::YarnBerry,
        () if named.starts_with("yarn@") => Manager::Yarn,
        () if named.starts_with("bun@") => Manager::Bun,
        () => Manager::Npm,
    }
}

fn test_command(dir: &ProjectDir, package: &Value, manager: Manager) -> Option<Argv> {
    if has_test_script(package) {
        return Some(argv(match manager {
            Manager::Npm => "npm test",
            Manager::Pnpm => "pnpm test",
            Manager::Yarn | Manager::YarnBerry => "yarn test",
            Manager::Bun => "bun run test",
        }));
    }
    if !workspace_patterns(dir).is_empty() {
        return Some(argv(match manager {
            Manager::Npm => "npm test --workspaces --if-present",
            Manager::Pnpm => "pnpm --recursive test",
            Manager::Yarn => "yarn workspaces run test",
            Manager::YarnBerry => "yarn workspaces foreach --all run test",
            Manager::Bun => "bun run --filter=* test",
        }));
    }
    let runner = RUNNERS.iter().find(|(name, _)| depends_on(package, name));
    runner.map(|(_, command)| argv(command))
}

fn setup(dir: &ProjectDir, package: &Value, manager: Manager) -> Option<Argv> {
    let has_lock = dir.has("package-lock.json") || dir.has("npm-shrinkwrap.json");
    let is_needed = has_dependencies(package) || !workspace_patterns(dir).is_empty();
    is_needed.then(|| {
        argv(match manager {
            Manager::Npm if has_lock => "npm ci --no-audit --no-fund",
            Manager::Npm => "npm install --no-audit --no-fund",
            Manager::Pnpm => "pnpm install --frozen-lockfile",
            Manager::Yarn => "yarn install --frozen-lockfile",
            Manager::YarnBerry => "yarn install --immutable",
            Manager::Bun => "bun install --frozen-lockfile",
        })
    })
}

const DEPENDENCIES: [&str; 4] = [
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "peerDependencies",
];

fn has_dependencies(package: &Value) -> bool {
    let is_filled = |key: &str| package[key].as_object().is_some_and(|all| !all.is_empty());
    DEPENDENCIES.iter().any(|key| is_filled(key))
}

fn depends_on(package: &Value, name: &str) -> bool {
    DEPENDENCIES
        .iter()
        .any(|key| package[*key].get(name).is_some())
}

/// Returns `true` if there is a test script other than the placeholder that npm creates.
fn has_test_script(package: &Value) -> bool {
    let script = package["scripts"]["test"].as_str().unwrap_or_default();
    !script.trim().is_empty() && !script.contains("no test specified")
}
