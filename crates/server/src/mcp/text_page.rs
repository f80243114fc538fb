//! Long texts, page by page.

/// The maximum length of a line, in bytes. Longer ones are truncated and marked.
const MAX_LINE: usize = 2_000;

/// How much a page contains.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageSize {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// Some lines of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextPage {
    /// The lines, each with its line end.
    pub(super) text: String,
    /// The number of the first line of the next page, if there is one.
    pub(super) next: Option<usize>,
    /// The number of lines of the whole text.
    pub(super) total: usize,
}

impl TextPage {
    /// Returns the page that starts with this line, counted from zero. It has at least one line, if there is one.
    pub(super) fn new(text: &str, offset: usize, size: PageSize) -> Self {
        let total = text.lines().count();
        let mut page = String::new();
        let mut end = offset;
        for line in text.lines().skip(offset).take(size.lines) {
            let line = cut_line(line);
            if end > offset && page.len() + line.len() >= size.bytes {
                break;
            }
            page.push_str(&line);
            page.push('\n');
            end += 1;
        }
        Self {
            text: page,
            next: (end < total && end > offset).then_some(end),
            total,
        }
    }
}

/// Returns a line, or its beginning with a mark.
pub(super) fn cut_line(line: &str) -> String {
    if line.len() <= MAX_LINE {
        return line.to_owned();
    }
    let end = line.floor_char_boundary(MAX_LINE);
    format!("{} [… {} bytes cut]", &line[..end], line.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(text: &str, size: PageSize) -> Vec<String> {
        let mut offset = 0;
        let mut pages = Vec::new();
        loop {
            let page = TextPage::new(text, offset, size);
            pages.push(page.text);
            match page.next {
                Some(next) => offset = next,
                None => return pages,
            }
        }
    }

    #[test]
    fn pages_together_are_the_text() {
        let text: String = (0..95).map(|line| format!("line {line}\n")).collect();
        let by_lines = PageSize {
            lines: 10,
            bytes: 1 << 20,
        };
        assert_eq!(pages(&text, by_lines).len(), 10);
        assert_eq!(pages(&text, by_lines).concat(), text);
        let by_bytes = PageSize {
            lines: 1_000,
            bytes: 100,
        };
        assert_eq!(pages(&text, by_bytes).concat(), text);
        assert!(pages(&text, by_bytes).iter().all(|page| page.len() <= 100));
    }

    #[test]
    fn p12_long_line_is_cut_and_every_page_makes_progress() {
        let text = format!("{}\nend", "é".repeat(MAX_LINE));
        let tiny = PageSize { lines: 1, bytes: 1 };
        let pages = pages(&text, tiny);
        assert!(pages[0].ends_with(" [… 2000 bytes cut]\n"), "{pages:?}");
        assert_eq!(pages[1], "end\n");
    }

    #[test]
    fn page_after_the_end_is_empty() {
        let size = PageSize {
            lines: 10,
            bytes: 100,
        };
        let page = TextPage::new("one\ntwo", 7, size);
        assert_eq!((page.text.as_str(), page.next, page.total), ("", None, 2));
    }
}
