//! The parts of a project's manifest that decide how it is tested.

use serde_json::{Map, Value};

/// Maximum number of scripts that a test script can lead to.
const MAX_SCRIPTS: usize = 50;

/// Parts of `package.json` that configure test runners.
const PACKAGE_KEYS: &[&str] = &["jest", "mocha", "ava", "tap", "nyc", "c8", "vitest"];

/// Settings of pytest that decide nothing about which tests run or whether they pass.
const NEUTRAL_PYTEST_KEYS: &[&str] = &["markers", "minversion", "log_level", "log_format"];

/// Returns the changed manifest with the test settings of the base. `None` if they are equal. A manifest that
/// cannot be parsed counts as changed, and is replaced by the base's.
pub(super) fn with_base_settings(path: &str, base: &str, new: &str) -> Option<String> {
    let file = path.rsplit('/').next().unwrap_or(path);
    if file == "setup.cfg" {
        return with_base_section(base, new, "[tool:pytest]");
    }
    let is_json = file == "package.json";
    let (Some(base_value), Some(mut value)) = (parse(base, is_json), parse(new, is_json)) else {
        return (base != new).then(|| base.to_owned());
    };
    let paths = match file {
        "package.json" => package_paths(&base_value, &value),
        "pyproject.toml" => pytest_paths(&base_value, &value),
        _ => cargo_paths(),
    };
    let mut is_changed = false;
    for path in paths {
        let wanted = get(&base_value, &path).cloned();
        if get(&value, &path) != wanted.as_ref() {
            is_changed = true;
            set(&mut value, &path, wanted);
        }
    }
    if !is_changed {
        return None;
    }
    let text = if is_json {
        serde_json::to_string_pretty(&value).ok()
    } else {
        toml::to_string(&value).ok()
    };
    Some(text.unwrap_or_else(|| base.to_owned()))
}

fn parse(text: &str, is_json: bool) -> Option<Value> {
    if is_json {
        return serde_json::from_str(text).ok();
    }
    let table: toml::Table = text.parse().ok()?;
    serde_json::to_value(table).ok()
}

/// Returns the paths of the test scripts and of the configuration of test runners.
fn package_paths(base: &Value, new: &Value) -> Vec<Vec<String>> {
    let mut names = vec!["test".to_owned()];
    let mut at = 0;
    while at < names.len() && names.len() < MAX_SCRIPTS {
        let name = names[at].clone();
        at += 1;
        let mut found = vec![format!("pre{name}"), format!("post{name}")];
        for value in [base, new] {
            let script = value["scripts"][&name].as_str().unwrap_or_default();
            let words = script.split(|c: char| c.is_whitespace() || "\"'&|;".contains(c));
            let is_script = |word: &&str| value["scripts"].get(*word).is_some();
            found.extend(words.filter(is_script).map(str::to_owned));
        }
        for name in found {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let scripts = names
        .into_iter()
        .map(|name| vec!["scripts".to_owned(), name]);
    let keys = PACKAGE_KEYS.iter().map(|key| vec![(*key).to_owned()]);
    scripts.chain(keys).collect()
}

/// Returns the paths of pytest's settings, except neutral ones, and of tox.
fn pytest_paths(base: &Value, new: &Value) -> Vec<Vec<String>> {
    let options = ["tool", "pytest", "ini_options"]
        .map(str::to_owned)
        .to_vec();
    let mut paths = vec![vec!["tool".to_owned(), "tox".to_owned()]];
    for value in [base, new] {
        let keys = get(value, &options).and_then(Value::as_object);
        let keys = keys.into_iter().flat_map(Map::keys);
        for key in keys.filter(|key| !NEUTRAL_PYTEST_KEYS.contains(&key.as_str())) {
            let path = [options.clone(), vec![key.clone()]].concat();
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

fn cargo_paths() -> Vec<Vec<String>> {
    let paths: [&[&str]; 6] = [
        &["test"],
        &["profile"],
        &["package", "autotests"],
        &["lib", "test"],
        &["lib", "harness"],
        &["lib", "doctest"],
    ];
    let owned = |path: &&[&str]| path.iter().map(|part| (*part).to_owned()).collect();
    paths.iter().map(owned).collect()
}

fn get<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// Sets the value at a path, or removes it.
fn set(value: &mut Value, path: &[String], wanted: Option<Value>) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let mut at = value;
    for key in parents {
        let Value::Object(map) = at else { return };
        at = map
            .entry(key.clone())
            .or_insert_with(|| Value::Object(Map::new()));
    }
    let Value::Object(map) = at else { return };
    match wanted {
        Some(wanted) => {
            map.insert(last.clone(), wanted);
        }
        None => {
            map.remove(last);
        }
    }
}

/// Returns an INI file with one section of the base. `None` if the section is equal.
fn with_base_section(base: &str, new: &str, header: &str) -> Option<String> {
    let (wanted, _) = split_section(base, header);
    let (found, rest) = split_section(new, header);
    (wanted != found).then(|| format!("{rest}{wanted}"))
}

/// Splits a section from the rest of an INI file.
fn split_section(text: &str, header: &str) -> (String, String) {
    let (mut section, mut rest) = (String::new(), String::new());
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with('[') {
            inside = line.trim() == header;
        }
        let part = if inside { &mut section } else { &mut rest };
        part.push_str(line);
        part.push('\n');
    }
    (section.trim_end().to_owned(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_script_and_what_it_runs_are_those_of_the_base() {
        let base = r#"{"version":"1","scripts":{"test":"npm run unit","unit":"jest"}}"#;
        let new = r#"{"version":"2","scripts":{"test":"npm run unit","unit":"true","pretest":"x","lint":"y"}}"#;
        let merged = with_base_settings("package.json", base, new).unwrap();
        let merged: Value = serde_json::from_str(&merged).unwrap();
        assert_eq!(merged["version"], "2");
        assert_eq!(merged["scripts"]["unit"], "jest");
        assert_eq!(merged["scripts"].get("pretest"), None);
        assert_eq!(merged["scripts"]["lint"], "y");
    }

    #[test]
    fn dependencies_versions_and_other_scripts_are_not_test_settings() {
        let base = r#"{"scripts":{"test":"jest"},"dependencies":{}}"#;
        let new = r#"{"scripts":{"test":"jest","lint":"x"},"dependencies":{"a":"1"}}"#;
        assert_eq!(with_base_settings("package.json", base, new), None);
        let base = "[project]\nversion = \"1\"\n[tool.pytest.ini_options]\naddopts = \"-q\"\n";
        let new = "[project]\nversion = \"2\"\n[tool.pytest.ini_options]\naddopts = \"-q\"\nmarkers = [\"slow\"]\n";
        assert_eq!(with_base_settings("pyproject.toml", base, new), None);
        let cargo = "[package]\nname = \"a\"\n";
        let more = "[package]\nname = \"a\"\n[dependencies]\nlog = \"1\"\n";
        assert_eq!(with_base_settings("Cargo.toml", cargo, more), None);
    }

    #[test]
    fn pytest_options_and_test_targets_are_restored() {
        let base = "[project]\nname = \"p\"\n[tool.pytest.ini_options]\naddopts = \"-q\"\n";
        let new =
            "[project]\nname = \"q\"\n[tool.pytest.ini_options]\naddopts = \"--collect-only\"\n";
        let merged = with_base_settings("pyproject.toml", base, new).unwrap();
        assert!(
            merged.contains("addopts = \"-q\"") && merged.contains("name = \"q\""),
            "{merged}"
        );
        let base = "[package]\nname = \"p\"\n";
        let new = "[package]\nname = \"p\"\n[lib]\ntest = false\n";
        let merged = with_base_settings("Cargo.toml", base, new).unwrap();
        assert!(!merged.contains("test = false"), "{merged}");
        let merged = with_base_settings(
            "setup.cfg",
            "[tool:pytest]\na = 1\n[x]\n",
            "[x]\n[tool:pytest]\na = 2\n",
        );
        assert_eq!(merged.unwrap(), "[x]\n[tool:pytest]\na = 1");
    }

    #[test]
    fn manifest_that_cannot_be_parsed_is_replaced() {
        assert_eq!(with_base_settings("package.json", "{}", "{").unwrap(), "{}");
        assert_eq!(with_base_settings("package.json", "{", "{"), None);
    }
}
