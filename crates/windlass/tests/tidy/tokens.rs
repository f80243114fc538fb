//! Rust source as tokens: finds lines that belong to tests, tests that can pass without a check, and definitions of
//! types.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

pub(crate) fn parse(name: &str, text: &str) -> TokenStream {
    text.parse()
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the lines of every item under `#[cfg(test)]`, including its attributes.
pub(crate) fn test_lines(source: &TokenStream) -> Vec<RangeInclusive<usize>> {
    let mut found = Vec::new();
    for_each_sequence(source, &mut |tokens| {
        let mut at = 0;
        while at < tokens.len() {
            let Some(attribute) = attribute(&tokens[at..]) else {
                at += 1;
                continue;
            };
            let start = at;
            at += 2;
            if words(&attribute.stream()) == ["cfg", "(test)"] {
                at = end_of_item(tokens, at);
                let lines = line(tokens[start].span())..=tokens[at - 1].span().end().line;
                found.push(lines);
            }
        }
    });
    found
}

/// Returns the line of every `#[ignore]`, with its reason if it has one.
pub(crate) fn ignored(source: &TokenStream) -> Vec<(usize, Option<String>)> {
    let mut found = Vec::new();
    for_each_sequence(source, &mut |tokens| {
        for at in 0..tokens.len() {
            let Some(attribute) = attribute(&tokens[at..]) else {
                continue;
            };
            let inside: Vec<TokenTree> = attribute.stream().into_iter().collect();
            if is_word(inside.first(), "ignore") {
                let reason = inside.get(2).map(|reason| reason.to_string());
                let reason = reason.map(|reason| reason.trim_matches('"').to_owned());
                found.push((line(attribute.span()), reason));
            }
        }
    });
    found
}

/// Returns the lines where a test can end without a check, with the reason.
pub(crate) fn unchecked_tests(source: &TokenStream) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for_each_sequence(source, &mut |tokens| {
        let mut is_test = false;
        for (at, token) in tokens.iter().enumerate() {
            if let Some(attribute) = attribute(&tokens[at..]) {
                is_test |= is_test_attribute(attribute);
            }
            if let TokenTree::Group(group) = token
                && group.delimiter() == Delimiter::Brace
            {
                if is_test && let Some(problem) = find_unchecked(group) {
                    found.push(problem);
                }
                is_test = false;
            }
        }
    });
    found
}

/// Returns `true` for `#[test]` and `#[tokio::test]`, with or without arguments.
fn is_test_attribute(attribute: &Group) -> bool {
    let path = attribute.stream().into_iter();
    let path = path.take_while(|token| !matches!(token, TokenTree::Group(_)));
    path.last().is_some_and(|last| is_word(Some(&last), "test"))
}

fn find_unchecked(body: &Group) -> Option<(usize, &'static str)> {
    let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let groups = tokens.iter().filter(
        |token| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace),
    );
    let ends_with_group = matches!(tokens.last(), Some(TokenTree::Group(_)));
    if is_word(tokens.first(), "if") && groups.count() == 1 && ends_with_group {
        return Some((
            line(body.span()),
            "its whole body is an `if` without an `else`",
        ));
    }
    let mut checked = false;
    let mut early = None;
    in_order(&body.stream(), &mut |word, next| {
        let name = word.to_string();
        checked |= ["assert", "prop_assert", "panic"]
            .iter()
            .any(|start| name.starts_with(start));
        let is_bare = next.is_none_or(|next| next.to_string() == ";");
        if name == "return" && is_bare && !checked && early.is_none() {
            early = Some((line(word.span()), "it returns before the first check"));
        }
    });
    early
}

/// Returns the lines where a condition on an environment variable leads to a `return`. A helper of a test must not do
/// that either.
pub(crate) fn environment_returns(source: &TokenStream) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for_each_sequence(source, &mut |tokens| found.extend(conditions(tokens)));
    found
}

fn conditions(tokens: &[TokenTree]) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_if = is_word(Some(token), "if");
        if !is_if && !is_word(Some(token), "let") {
            continue;
        }
        // The first block after `if`, or after the `else` of a `let`.
        let mut head = tokens[at + 1..]
            .iter()
            .take_while(|token| token.to_string() != ";");
        let mut reads = false;
        let mut may_return = is_if;
        let block = head.find_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && may_return => {
                Some(group)
            }
            other => {
                reads |= contains_word(other, "env");
                may_return |= is_word(Some(other), "else");
                None
            }
        });
        if reads
            && block.is_some_and(|block| contains_word(&TokenTree::Group(block.clone()), "return"))
        {
            found.push((
                line(token.span()),
                "it returns depending on an environment variable",
            ));
        }
    }
    found
}

/// Returns the lines of the arms `true =>` and `false =>`.
pub(crate) fn bool_arms(source: &TokenStream) -> Vec<usize> {
    let mut found = Vec::new();
    for_each_sequence(source, &mut |tokens| {
        for window in tokens.windows(3) {
            let is_bool = ["true", "false"]
                .iter()
                .any(|word| is_word(window.first(), word));
            if is_bool && is_punct(&window[1], '=') && is_punct(&window[2], '>') {
                found.push(line(window[0].span()));
            }
        }
    });
    found
}

/// Returns the line and the text of each import of one of our own types under another name.
pub(crate) fn type_aliases(source: &TokenStream) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for_each_sequence(source, &mut |tokens| {
        for at in 0..tokens.len() {
            if is_word(tokens.get(at), "use") && is_own(tokens.get(at + 1)) {
                let import = tokens[at..end_of_import(tokens, at)].iter().cloned();
                find_aliases(&import.collect(), &mut found);
            }
        }
    });
    found
}

/// Returns `true` if a path that starts with this token leads to our own code.
fn is_own(token: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Ident(root)) = token else {
        return false;
    };
    ["crate", "super", "self"].iter().any(|own| root == own)
        || root.to_string().starts_with("windlass")
}

/// Returns the end of the import that starts here.
fn end_of_import(tokens: &[TokenTree], start: usize) -> usize {
    let rest = tokens[start..]
        .iter()
        .position(|token| is_punct(token, ';'));
    rest.map_or(tokens.len(), |rest| start + rest)
}

fn find_aliases(import: &TokenStream, found: &mut Vec<(usize, String)>) {
    for_each_sequence(import, &mut |tokens| {
        for window in tokens.windows(3) {
            let [TokenTree::Ident(name), word, TokenTree::Ident(alias)] = window else {
                continue;
            };
            let is_type = |ident: &Ident| ident.to_string().starts_with(char::is_uppercase);
            if is_word(Some(word), "as") && is_type(name) && is_type(alias) {
                found.push((line(name.span()), format!("{name} as {alias}")));
            }
        }
    });
}

/// A type that is defined in a source file.
pub(crate) struct TypeDefinition {
    pub(crate) name: String,
    pub(crate) line: usize,
    attributes: Vec<TokenTree>,
}

impl TypeDefinition {
    /// Returns `true` if the type derives this trait.
    pub(crate) fn derives(&self, name: &str) -> bool {
        let mut attributes = self.attributes.iter();
        attributes
            .any(|attribute| contains_word(attribute, "derive") && contains_word(attribute, name))
    }
}

/// Returns the structs, enums, traits and type aliases. A `type` in a block is an associated type, and not one of them.
pub(crate) fn type_definitions(source: &TokenStream) -> Vec<TypeDefinition> {
    let mut found = Vec::new();
    let mut keywords = vec!["struct", "enum", "trait", "type"];
    for_each_sequence(source, &mut |tokens| {
        let mut attributes = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if let Some(attribute) = attribute(&tokens[at..]) {
                attributes.push(TokenTree::Group(attribute.clone()));
            }
            let is_keyword = keywords.iter().any(|word| is_word(Some(token), word));
            if is_keyword && let Some(TokenTree::Ident(name)) = tokens.get(at + 1) {
                found.push(TypeDefinition {
                    name: name.to_string(),
                    line: line(name.span()),
                    attributes: std::mem::take(&mut attributes),
                });
            }
            if is_end_of_item(token) {
                attributes.clear();
            }
        }
        // The first sequence is the file, and all others are inside of it.
        keywords.retain(|word| *word != "type");
    });
    found
}

/// Returns `true` if the token is this word or contains it.
fn contains_word(token: &TokenTree, word: &str) -> bool {
    match token {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => group
            .stream()
            .into_iter()
            .any(|token| contains_word(&token, word)),
        _ => false,
    }
}

/// Calls `visit` with every sequence of tokens between two delimiters, outermost first.
fn for_each_sequence(source: &TokenStream, visit: &mut impl FnMut(&[TokenTree])) {
    let tokens: Vec<TokenTree> = source.clone().into_iter().collect();
    visit(&tokens);
    for token in &tokens {
        if let TokenTree::Group(group) = token {
            for_each_sequence(&group.stream(), visit);
        }
    }
}

/// Calls `visit` with every word in the order of the text, and with the token after it.
fn in_order(source: &TokenStream, visit: &mut impl FnMut(&Ident, Option<&TokenTree>)) {
    let mut tokens = source.clone().into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) => visit(&word, tokens.peek()),
            TokenTree::Group(group) => in_order(&group.stream(), visit),
            _ => {}
        }
    }
}

/// Returns the brackets of an outer attribute that starts here.
fn attribute(tokens: &[TokenTree]) -> Option<&Group> {
    match tokens {
        [TokenTree::Punct(hash), TokenTree::Group(group), ..]
            if hash.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
        {
            Some(group)
        }
        _ => None,
    }
}

/// Returns the end of the item that starts here: after its block or its semicolon.
fn end_of_item(tokens: &[TokenTree], start: usize) -> usize {
    let rest = tokens[start..].iter().position(is_end_of_item);
    rest.map_or(tokens.len(), |rest| start + rest + 1)
}

/// Returns `true` for a block and for a semicolon.
fn is_end_of_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

fn is_punct(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}

fn words(source: &TokenStream) -> Vec<String> {
    let tokens = source.clone().into_iter();
    tokens
        .map(|token| token.to_string().replace(' ', ""))
        .collect()
}

fn line(span: Span) -> usize {
    span.start().line
}

#[test]
fn test_lines_cover_exactly_the_annotated_item() {
    let source = "fn a() {}\n#[cfg(test)]\n#[expect(dead_code)]\nfn b() {\n    \"}\";\n}\nfn c() {}\nmod d {\n    #[cfg(test)]\n    use e::f;\n    fn g() {}\n}\n";
    assert_eq!(test_lines(&parse("sample", source)), [2..=6, 9..=10]);
}

#[test]
fn ignore_reasons_are_found_in_macros() {
    let source =
        "macro_rules! m { () => { #[ignore = \"full: x\"] fn a() {} }; }\n#[ignore]\nfn b() {}";
    let found = ignored(&parse("sample", source));
    assert_eq!(found, [(2, None), (1, Some("full: x".to_owned()))]);
}

#[track_caller]
fn check_unchecked(source: &str, expected: bool) {
    let source = parse("sample", source);
    let found = [unchecked_tests(&source), environment_returns(&source)].concat();
    assert_eq!(!found.is_empty(), expected, "{source}: {found:?}");
}

#[test]
fn tests_without_a_check_are_found() {
    check_unchecked("#[test] fn a() { if x() { return; } assert!(y); }", true);
    check_unchecked(
        "#[test] fn a() { let Some(x) = y() else { return }; assert!(x); }",
        true,
    );
    check_unchecked(
        "mod m { #[tokio::test(flavor = \"x\")] async fn a() { if b() { c().await; } } }",
        true,
    );
    check_unchecked(
        "macro_rules! m { () => { #[test] fn a() { if b() { c(); } } }; }",
        true,
    );
    check_unchecked(
        "fn help() { if std::env::var_os(\"X\").is_none() { return; } work(); }",
        true,
    );
    check_unchecked(
        "fn help() { let Ok(x) = std::env::var(\"X\") else { return; }; }",
        true,
    );
    check_unchecked("#[test] fn a() { assert!(x); if y { return; } }", false);
    check_unchecked(
        "#[test] fn a() { if x { return check(1); } check(2); }",
        false,
    );
    check_unchecked("#[test] fn a() { if x { b(); } else { c(); } }", false);
    check_unchecked("fn help() { if x { return; } work(); }", false);
}

#[test]
fn bool_arms_and_type_aliases_are_found() {
    let source = parse(
        "sample",
        "use crate::a::{B as C, d as e, F as _};\nuse std::x::Y as Z;\nuse super::G as H;\n\
         fn f() {\n match g {\n true => 1,\n false => 2,\n }\n match h { Some(true) => 1, _ => 2 }\n}",
    );
    assert_eq!(bool_arms(&source), [6, 7]);
    let aliases = type_aliases(&source);
    let expected = [(1, "B as C".to_owned()), (3, "G as H".to_owned())];
    assert_eq!(aliases, expected);
}

#[test]
fn type_definitions_are_found() {
    let source = parse(
        "sample",
        "#[derive(Args)]\npub struct A;\nfn f() { struct B; }\nimpl C for D { type E = F; }\n\
         pub(crate) type G = H;\nm! { pub struct I at \"x\" {} }\nmacro_rules! n { () => { struct $name; } }",
    );
    let found = type_definitions(&source);
    let names: Vec<_> = found
        .iter()
        .map(|one| (one.name.as_str(), one.line))
        .collect();
    assert_eq!(names, [("A", 2), ("G", 5), ("B", 3), ("I", 6)]);
    let derives: Vec<_> = found.iter().map(|one| one.derives("Args")).collect();
    assert_eq!(derives, [true, false, false, false]);
}
