//! The names of pytest's cases.

use super::junit::CaseAttributes;

/// Returns the node id of a case: `tests/test_a.py::TestAdd::test_one[2]`.
///
/// The report has the file in which the function is defined, and the module and classes as one dotted name.
pub(crate) fn node_id(case: &CaseAttributes) -> String {
    let CaseAttributes { class, name, file } = case;
    // A file that cannot be imported is a separate case.
    if class.is_empty() {
        return if file.is_empty() { name } else { file }.clone();
    }
    let module = file
        .strip_suffix(".py")
        .unwrap_or(file)
        .replace(['/', '\\'], ".");
    let classes = class
        .strip_prefix(&module)
        .filter(|rest| rest.is_empty() || rest.starts_with('.'));
    let mut id = match classes {
        Some(classes) => format!("{file}{}", classes.replace('.', "::")),
        // The test is inherited from a class in another file.
        None => guess(class),
    };
    id.push_str("::");
    id.push_str(name);
    id
}

/// Returns the node id for a dotted name, as if only classes start with a capital letter.
fn guess(class: &str) -> String {
    let parts: Vec<&str> = class.split('.').collect();
    let is_class = |part: &&str| part.starts_with(|c: char| c.is_uppercase());
    let modules = parts
        .iter()
        .position(is_class)
        .unwrap_or(parts.len())
        .max(1);
    let mut id = format!("{}.py", parts[..modules].join("/"));
    for class in &parts[modules..] {
        id.push_str("::");
        id.push_str(class);
    }
    id
}
