//! The supported languages. A language is a row of the table and the patterns of its definitions.
//!
//! In a pattern, the name of a capture is the kind of the symbol.

use std::path::Path;
use std::sync::OnceLock;

use crate::bodies::without_bodies;
use crate::patterns::DefinitionPatterns;
use tree_sitter_language::LanguageFn;

/// Returns a text without the bodies of its functions, or `None` to parse it as it is.
type RemoveBodies = fn(&[u8]) -> Option<Vec<u8>>;

/// A language.
pub(crate) struct Language {
    pub(crate) name: &'static str,
    extensions: &'static [&'static str],
    grammar: LanguageFn,
    query: &'static str,
    /// Removes the bodies of functions, where nothing is defined in this language.
    pub(crate) without_bodies: Option<RemoveBodies>,
    compiled: OnceLock<Option<DefinitionPatterns>>,
}

/// Creates a row of the table.
macro_rules! language {
    ($name:literal, [$($extension:literal),+], $grammar:expr, $($query:literal),+ $(; $bodies:expr)?) => {
        Language {
            name: $name,
            extensions: &[$($extension),+],
            grammar: $grammar,
            query: concat!($(include_str!(concat!("queries/", $query, ".scm"))),+),
            without_bodies: [$(Some($bodies as RemoveBodies),)? None][0],
            compiled: OnceLock::new(),
        }
    };
}

/// C++ comes after C and has a fixed index: a header is C unless it looks like C++.
#[rustfmt::skip]
static LANGUAGES: [Language; 9] = [
    language!("Rust", ["rs"], tree_sitter_rust::LANGUAGE, "rust"),
    language!("Python", ["py", "pyi"], tree_sitter_python::LANGUAGE, "python"),
    language!("TypeScript", ["ts", "mts", "cts"], tree_sitter_typescript::LANGUAGE_TYPESCRIPT, "javascript", "typescript"),
    language!("TSX", ["tsx"], tree_sitter_typescript::LANGUAGE_TSX, "javascript", "typescript"),
    language!("JavaScript", ["js", "jsx", "mjs", "cjs"], tree_sitter_javascript::LANGUAGE, "javascript", "javascript-only"),
    language!("Go", ["go"], tree_sitter_go::LANGUAGE, "go"),
    language!("Java", ["java"], tree_sitter_java::LANGUAGE, "java"),
    language!("C", ["c", "h"], tree_sitter_c::LANGUAGE, "c"; without_bodies),
    language!("C++", ["cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "inl"], tree_sitter_cpp::LANGUAGE, "c", "cpp"),
];
const CPP: usize = 8;

impl Language {
    /// Detects the language of a file by its extension and, for headers, by its text.
    pub(crate) fn detect(path: &str, text: &[u8]) -> Option<&'static Self> {
        let extension = Path::new(path).extension()?.to_str()?;
        if extension == "h" && looks_like_cpp(text) {
            return LANGUAGES.get(CPP);
        }
        LANGUAGES
            .iter()
            .find(|language| language.extensions.contains(&extension))
    }

    pub(crate) fn grammar(&self) -> tree_sitter::Language {
        self.grammar.into()
    }

    /// Returns the patterns of definitions, which are compiled on first use. A test compiles all of them.
    pub(crate) fn patterns(&self) -> Option<&DefinitionPatterns> {
        let compile = || DefinitionPatterns::compile(&self.grammar(), self.query);
        self.compiled
            .get_or_init(|| match compile() {
                Ok(patterns) => Some(patterns),
                Err(error) => {
                    tracing::error!(language = self.name, %error, "no symbols: the patterns do not match the grammar");
                    None
                }
            })
            .as_ref()
    }
}

fn looks_like_cpp(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| {
        ["class ", "namespace ", "template", "using "]
            .iter()
            .any(|word| line.starts_with(word.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_their_grammar_and_are_valid_queries() {
        for language in &LANGUAGES {
            let (name, grammar) = (language.name, language.grammar());
            let patterns = DefinitionPatterns::compile(&grammar, language.query);
            assert!(patterns.is_ok(), "{name}: {}", patterns.unwrap_err());
            let query = tree_sitter::Query::new(&grammar, language.query);
            assert!(query.is_ok(), "{name}: {}", query.unwrap_err());
        }
        assert_eq!(LANGUAGES[CPP].name, "C++");
    }
}
