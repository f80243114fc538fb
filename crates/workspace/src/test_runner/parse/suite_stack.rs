//! Suites that a report shows by indentation, and the names of the cases in them.

/// Maximum depth of nested suites.
const MAX_DEPTH: usize = 64;
/// Maximum length of the title of a suite.
const MAX_TITLE_CHARS: usize = 400;

/// The suites around the current line of a report, with their indentation.
#[derive(Debug, Default)]
pub(super) struct SuiteStack(Vec<(usize, String)>);

impl SuiteStack {
    /// Enters a suite, and leaves those that are not around it.
    pub(super) fn enter(&mut self, indent: usize, title: &str) {
        self.leave(indent);
        self.0.truncate(MAX_DEPTH);
        self.0.push((indent, shorten(title)));
    }

    /// Returns the full name of a case: the titles of its suites, then its own.
    pub(super) fn case_name(&mut self, indent: usize, title: &str) -> String {
        self.leave(indent);
        self.join(title)
    }

    /// Leaves the suite with this indentation and title, if it is open, and returns its full name.
    pub(super) fn close(&mut self, indent: usize, title: &str) -> Option<String> {
        self.leave(indent + 1);
        let title = shorten(title);
        let is_open = |(outer, name): &mut (usize, String)| *outer == indent && *name == title;
        self.0.pop_if(is_open)?;
        Some(self.join(&title))
    }

    fn leave(&mut self, indent: usize) {
        self.0.retain(|(outer, _)| *outer < indent);
    }

    fn join(&self, title: &str) -> String {
        let suites = self.0.iter().map(|(_, name)| name.as_str());
        suites.chain([title]).collect::<Vec<_>>().join(" > ")
    }
}

/// Returns a title of limited length.
fn shorten(title: &str) -> String {
    title.chars().take(MAX_TITLE_CHARS).collect()
}

/// Returns the number of bytes before the first character that is not a space.
pub(super) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns a title without its time: `title (138 ms)`, `title (138ms)`, `title (1.2 s)`.
pub(super) fn without_time(title: &str) -> &str {
    let is_time = |time: &str| {
        let number = time.strip_suffix("ms)").or(time.strip_suffix("s)"));
        number.is_some_and(|number| number.trim_end().parse::<f64>().is_ok())
    };
    match title.rsplit_once(" (") {
        Some((title, time)) if is_time(time) => title,
        _ => title,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suite_with_a_long_title_is_closed() {
        let title = "é".repeat(MAX_TITLE_CHARS + 1);
        let mut suites = SuiteStack::default();
        suites.enter(0, "outer");
        suites.enter(2, &title);
        assert!(suites.case_name(4, "case").ends_with("é > case"));
        let name = suites.close(2, &title).unwrap();
        assert_eq!(name, format!("outer > {}", shorten(&title)));
        assert_eq!(suites.case_name(2, "next"), "outer > next");
        assert_eq!(suites.close(2, "other"), None);
    }

    #[test]
    fn only_a_time_is_removed_from_a_title() {
        for title in ["a (138 ms)", "a (138ms)", "a (1.2 s)"] {
            assert_eq!(without_time(title), "a");
        }
        for title in ["a (b ms)", "a (2 cases)", "a"] {
            assert_eq!(without_time(title), title);
        }
    }
}
