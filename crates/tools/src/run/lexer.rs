//! Splits a shell text into simple commands. Does no I/O, and is only as exact as the pre-check needs.

/// One simple command: its words without quotes, including the targets of redirections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// The words; the first one names the program.
    pub(super) words: Vec<String>,
    /// The command as written.
    pub(super) text: String,
}

/// The maximum nesting of substitutions. Deeper text is treated as unparsable.
const MAX_DEPTH: usize = 16;

/// Returns the simple commands of a text, including those in substitutions, or `None` if it cannot be parsed.
pub(super) fn parse_commands(text: &str) -> Option<Vec<SimpleCommand>> {
    commands_at(text, 0)
}

fn commands_at(text: &str, depth: usize) -> Option<Vec<SimpleCommand>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut lexer = Lexer {
        rest: text.chars().collect(),
        at: 0,
        depth,
        found: Vec::new(),
        current: SimpleCommand::default(),
        start: 0,
        brackets: 0,
        documents: Vec::new(),
    };
    lexer.read()?;
    Some(lexer.found)
}

struct Lexer {
    rest: Vec<char>,
    at: usize,
    depth: usize,
    found: Vec<SimpleCommand>,
    current: SimpleCommand,
    /// Where the current command starts.
    start: usize,
    /// How many subshells are open.
    brackets: usize,
    /// The delimiters of here-documents that start at the next line, and whether leading tabs are stripped.
    documents: Vec<(String, bool)>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    fn read(&mut self) -> Option<()> {
        while let Some(letter) = self.peek(0) {
            match letter {
                ' ' | '\t' | '\r' => self.at += 1,
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '#' => self.skip_line(),
                '\n' => {
                    self.close();
                    self.at += 1;
                    self.skip_documents();
                    self.start = self.at;
                }
                ';' | '&' | '|' => {
                    // `&>` and `>&` are redirections.
                    if letter == '&' && self.peek(1) == Some('>') {
                        self.at += 1;
                        continue;
                    }
                    self.separate();
                }
                '(' => self.open(),
                // Ends a subshell, or the pattern of a `case`.
                ')' => self.separate(),
                '<' | '>' => self.redirect()?,
                _ => {
                    let word = self.word()?;
                    self.current.words.push(word);
                }
            }
        }
        self.close();
        Some(())
    }

    fn separate(&mut self) {
        if self.peek(0) == Some(')') {
            if self.brackets == 0 {
                // The words were a pattern of `case`.
                self.current = SimpleCommand::default();
            }
            self.brackets = self.brackets.saturating_sub(1);
        }
        self.close();
        self.at += 1;
        self.start = self.at;
    }

    /// Opens a subshell, an array, or the parentheses of a function.
    fn open(&mut self) {
        let is_function = self.current.words.len() == 1 && self.peek(1) == Some(')');
        if is_function {
            let name = self.current.words.remove(0);
            self.current = SimpleCommand::default();
            self.found.push(SimpleCommand {
                words: vec!["function".to_owned(), name],
                text: String::new(),
            });
            self.at += 2;
        } else {
            self.close();
            self.at += 1;
            self.brackets += 1;
        }
        self.start = self.at;
    }

    /// Ends the current command.
    fn close(&mut self) {
        let mut command = std::mem::take(&mut self.current);
        if command.words.is_empty() {
            return;
        }
        let text: String = self.rest[self.start..self.at].iter().collect();
        command.text = text.trim().to_owned();
        self.found.push(command);
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|letter| letter != '\n') {
            self.at += 1;
        }
    }

    fn redirect(&mut self) -> Option<()> {
        let is_document = self.peek(0) == Some('<') && self.peek(1) == Some('<');
        let is_text = is_document && self.peek(2) == Some('<');
        while self.peek(0).is_some_and(|letter| "<>&|".contains(letter)) {
            self.at += 1;
        }
        if self.peek(0) == Some('(') {
            // Process substitution.
            let inner = self.balanced()?;
            return self.nested(&inner);
        }
        let strips = is_document && self.peek(0) == Some('-');
        if strips {
            self.at += 1;
        }
        while self
            .peek(0)
            .is_some_and(|letter| letter == ' ' || letter == '\t')
        {
            self.at += 1;
        }
        let target = self.word()?;
        if is_document && !is_text {
            self.documents.push((target, strips));
        } else if !self.current.words.is_empty() {
            self.current.words.push(target);
        } else {
            // `> file command`: the word is not a program.
            self.found.push(SimpleCommand {
                words: vec![":".to_owned(), target],
                text: String::new(),
            });
        }
        Some(())
    }

    fn skip_documents(&mut self) {
        for (end, strips) in std::mem::take(&mut self.documents) {
            while self.at < self.rest.len() {
                let from = self.at;
                self.skip_line();
                let line: String = self.rest[from..self.at].iter().collect();
                self.at += 1;
                let line = if strips {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if line == end {
                    break;
                }
            }
            self.at = self.at.min(self.rest.len());
        }
    }

    /// Reads one word without its quotes. Expansions with `$` are not expanded.
    fn word(&mut self) -> Option<String> {
        let mut word = String::new();
        let from = self.at;
        while let Some(letter) = self.peek(0) {
            match letter {
                ' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    if let Some(next) = self.peek(1).filter(|next| *next != '\n') {
                        word.push(next);
                    }
                    self.at += 2;
                }
                '\'' => {
                    self.at += 1;
                    word.push_str(&self.until('\'')?);
                }
                '"' => self.quoted(&mut word)?,
                '`' => {
                    self.at += 1;
                    let inner = self.until('`')?;
                    self.nested(&inner)?;
                    word.push('`');
                }
                '$' => self.dollar(&mut word)?,
                other => {
                    word.push(other);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.rest.len());
        (self.at > from).then_some(word)
    }

    fn quoted(&mut self, word: &mut String) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek(0)? {
                '"' => {
                    self.at += 1;
                    return Some(());
                }
                '\\' => {
                    word.extend(self.peek(1));
                    self.at += 2;
                }
                '`' => {
                    self.at += 1;
                    let inner = self.until('`')?;
                    self.nested(&inner)?;
                }
                '$' => self.dollar(word)?,
                other => {
                    word.push(other);
                    self.at += 1;
                }
            }
        }
    }

    fn dollar(&mut self, word: &mut String) -> Option<()> {
        word.push('$');
        self.at += 1;
        match (self.peek(0), self.peek(1)) {
            // Arithmetic is not a command. Substitutions inside it are not checked.
            (Some('('), Some('(')) => drop(self.balanced()?),
            (Some('('), _) => {
                let inner = self.balanced()?;
                self.nested(&inner)?;
            }
            _ => {}
        }
        Some(())
    }

    fn nested(&mut self, inner: &str) -> Option<()> {
        self.found.extend(commands_at(inner, self.depth + 1)?);
        Some(())
    }

    fn until(&mut self, end: char) -> Option<String> {
        let length = self.rest[self.at..]
            .iter()
            .position(|letter| *letter == end)?;
        let inner = self.rest[self.at..self.at + length].iter().collect();
        self.at += length + 1;
        Some(inner)
    }

    /// Returns the text between parentheses, taking quotes into account.
    fn balanced(&mut self) -> Option<String> {
        let from = self.at + 1;
        let mut open = 0_usize;
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            match letter {
                '\\' => self.at += 1,
                '\'' => drop(self.until('\'')?),
                '(' => open += 1,
                ')' => {
                    open -= 1;
                    if open == 0 {
                        return Some(self.rest[from..self.at - 1].iter().collect());
                    }
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found = parse_commands(text).unwrap();
        let found: Vec<String> = found
            .iter()
            .map(|command| command.words.join(" "))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn chains_pipes_and_lines_are_split() {
        check("ls -l", &["ls -l"]);
        check(
            "a; b && c || d | e & f\ng",
            &["a", "b", "c", "d", "e", "f", "g"],
        );
        check("(a; b) | c", &["a", "b", "c"]);
        check("echo ')'; (a)", &["echo )", "a"]);
        check("a \\\n b # c; d\ne", &["a b", "e"]);
    }

    #[test]
    fn quotes_group_words_and_substitutions_are_commands() {
        check("grep 'a;b' \"c|d\" e\\;f", &["grep a;b c|d e;f"]);
        check("echo \"$(rm x)\" `dd y`", &["rm x", "dd y", "echo $ `"]);
        check("echo $(cat <(ls))", &["ls", "cat", "echo $"]);
        check("echo $((1 + 2)) ${HOME}", &["echo $ ${HOME}"]);
        check("r''m x; \"r\"m y", &["rm x", "rm y"]);
    }

    #[test]
    fn redirection_targets_are_words_and_here_documents_are_skipped() {
        check("a > b 2>&1 < c", &["a b 2 1 c"]);
        check("cat <<EOF > x\nrm -rf /\nEOF\nls", &["cat x", "ls"]);
        check("cat <<-'END'\n\trm\n\tEND\nls", &["cat", "ls"]);
        check("cat <<< rm", &["cat rm"]);
        check("a &> b", &["a b"]);
    }

    #[test]
    fn functions_and_case_patterns_are_not_commands() {
        check(":(){ :|:& };:", &["function :", "{ :", ":", "}", ":"]);
        check("case $x in a) b;; c) d;; esac", &["b", "d", "esac"]);
    }

    #[test]
    fn unclosed_text_cannot_be_parsed() {
        for text in [
            "echo 'a",
            "echo \"a",
            "echo $(a",
            "echo `a",
            &"$(".repeat(40),
        ] {
            assert_eq!(parse_commands(text), None, "{text}");
        }
    }
}
