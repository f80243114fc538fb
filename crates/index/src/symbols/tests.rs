//! Checks each language's query on a small fixture.

use expect_test::{Expect, expect};

use std::path::Path;

use super::*;
use crate::bag::Bag;

/// Checks the symbols of a fixture, one per line, and which of the given names it refers to.
#[track_caller]
fn check(file: &str, names: &[&str], expect: Expect) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(file);
    let text = std::fs::read(path).unwrap();
    let language = Language::detect(file, &text).unwrap();
    let mut outline = SymbolParser::new().outline(language, &text);
    let mut seen = String::new();
    for symbol in &outline.symbols {
        seen += &format!("{} {} {}\n", symbol.line, symbol.kind.as_str(), symbol.name);
    }
    let mut packed = Vec::new();
    outline.uses.pack(&mut packed);
    let (bag, _) = Bag::first(&packed).unwrap();
    let used: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| {
            bag.iter()
                .any(|(word, _)| word == words::hash_name(name.as_bytes()))
        })
        .collect();
    expect.assert_eq(&format!("{seen}uses {}\n", used.join(" ")));
}

#[test]
fn rust() {
    check(
        "sample.rs",
        &[
            "say",
            "push",
            "refill",
            "helper_of_inner",
            "Queue",
            "nothing",
        ],
        expect![[r#"
            4 constant LIMIT
            6 macro say
            10 struct Queue
            14 enum State
            18 type Names
            20 trait Drain
            21 method drain_all
            25 function push
            32 module inner
            33 function helper_of_inner
            36 function refill
            uses say push refill helper_of_inner Queue
        "#]],
    );
}

#[test]
fn python() {
    check(
        "sample.py",
        &[
            "open_store",
            "traced",
            "BaseWorker",
            "claim",
            "Worker",
            "nothing",
        ],
        expect![[r#"
            3 variable TIMEOUT
            7 class Worker
            10 function run_once
            14 function main
            uses open_store traced BaseWorker claim Worker
        "#]],
    );
}

#[test]
fn typescript() {
    check(
        "sample.ts",
        &["openStore", "Base", "Clock", "Queue", "nothing"],
        expect![[r#"
            3 constant LIMIT
            4 type Id
            6 interface Clock
            7 method now
            10 enum Mode
            12 class Worker
            13 method now
            14 method #hidden
            15 method handler
            16 method run
            21 function start
            22 function stop
            23 module Inner
            23 function deep
            uses openStore Base Clock Queue
        "#]],
    );
}

#[test]
fn tsx() {
    check(
        "sample.tsx",
        &["ButtonProps", "onPress", "nothing"],
        expect![[r#"
            1 function Button
            2 function press
            uses ButtonProps onPress
        "#]],
    );
}

#[test]
fn javascript() {
    check(
        "sample.js",
        &["Base", "notifyAll", "walk", "Queue", "nothing"],
        expect![[r#"
            3 class Queue
            4 method push
            7 function walk
            8 function drain
            9 function reset
            9 constant table
            uses Base notifyAll walk Queue
        "#]],
    );
}

#[test]
fn go() {
    check(
        "sample.go",
        &["New", "Item", "notifyAll", "nothing"],
        expect![[r#"
            3 constant Limit
            5 variable shared
            7 type Queue
            9 type Reader
            11 function New
            13 method Push
            uses New Item notifyAll
        "#]],
    );
}

#[test]
fn java() {
    check(
        "Sample.java",
        &["Base", "Closeable", "Clock", "Pair", "notifyAll", "nothing"],
        expect![[r#"
            3 class Sample
            4 field limit
            6 constructor Sample
            8 enum Mode
            10 interface Listener
            10 method changed
            12 class Pair
            15 method close
            uses Base Closeable Clock Pair notifyAll
        "#]],
    );
}

#[test]
fn c() {
    check(
        "sample.c",
        &["lookup_name", "Queue", "MIN", "nothing"],
        expect![[r#"
            3 macro LIMIT
            4 macro MIN
            6 struct Queue
            7 enum Mode
            8 variable counter
            11 function queue_name
            16 function queue_push
            uses lookup_name Queue MIN
        "#]],
    );
}

#[test]
fn cpp() {
    check(
        "sample.cpp",
        &["notify_all", "count", "Base", "nothing"],
        expect![[r#"
            3 module queues
            5 class Queue
            7 method push
            11 type Names
            15 method size
            16 function refill
            uses notify_all count Base
        "#]],
    );
}

#[test]
fn header_is_c_unless_it_looks_like_cpp() {
    let language_of = |text: &str| Language::detect("a.h", text.as_bytes()).unwrap().name;
    assert_eq!(language_of("struct queue;\n"), "C");
    assert_eq!(language_of("#pragma once\nnamespace queue {\n"), "C++");
}
