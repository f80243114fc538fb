//! Tests inside a source file: Rust's test modules.

/// Returns a changed source file with the test module of the base. `None` unless both have exactly one, and
/// they differ.
pub(super) fn with_base_tests(path: &str, base: &str, new: &str) -> Option<String> {
    if !path.ends_with(".rs") {
        return None;
    }
    let (base_block, new_block) = (test_module(base)?, test_module(new)?);
    let (wanted, found) = (&base[base_block], &new[new_block.clone()]);
    (wanted != found).then(|| {
        let (before, after) = (&new[..new_block.start], &new[new_block.end..]);
        format!("{before}{wanted}{after}")
    })
}

/// Returns the range of the only top-level test module.
fn test_module(text: &str) -> Option<std::ops::Range<usize>> {
    const ATTRIBUTE: &str = "#[cfg(test)]\nmod ";
    let mut starts = text
        .match_indices(ATTRIBUTE)
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || text[..*at].ends_with('\n'));
    let start = starts.next()?;
    if starts.next().is_some() {
        return None;
    }
    let header_end = start + text[start..].find('{')?;
    // The module is in this file, and its closing brace is at the start of a line.
    if text[start + ATTRIBUTE.len()..header_end].contains([';', '\n']) {
        return None;
    }
    let end = header_end + text[header_end..].find("\n}")? + "\n}".len();
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_module_of_the_base_replaces_that_of_the_change() {
        let base = "fn a() {}\n#[cfg(test)]\nmod tests {\n    strict();\n}\n";
        let new = "fn b() {}\n#[cfg(test)]\nmod tests {\n    lax();\n}\nfn c() {}\n";
        assert_eq!(
            with_base_tests("src/lib.rs", base, new).unwrap(),
            "fn b() {}\n#[cfg(test)]\nmod tests {\n    strict();\n}\nfn c() {}\n"
        );
    }

    #[test]
    fn files_without_one_test_module_are_left_alone() {
        let one = "#[cfg(test)]\nmod tests {\n    a();\n}\n";
        let declared = "#[cfg(test)]\nmod tests;\nfn a() {\n}\n";
        assert_eq!(with_base_tests("a.rs", one, one), None);
        assert_eq!(with_base_tests("a.rs", one, "fn a() {}\n"), None);
        assert_eq!(with_base_tests("a.rs", declared, one), None);
        assert_eq!(with_base_tests("a.rs", &one.repeat(2), one), None);
        assert_eq!(with_base_tests("a.py", one, declared), None);
    }
}
