//! Checks each language's query on a small fixture.

use expect_test::{Expect, expect};

use std::path::Path;

use super::*;

/// Checks the symbols of a fixture, one per line.
#[track_caller]
fn check(file: &str, expect: Expect) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(file);
    let text = std::fs::read(path).unwrap();
    let language = Language::detect(file, &text).unwrap();
    let mut seen = String::new();
    for symbol in SymbolParser::new().symbols(language, &text) {
        seen += &format!("{} {} {}\n", symbol.line, symbol.kind.as_str(), symbol.name);
    }
    expect.assert_eq(&seen);
}

#[test]
fn rust() {
    check(
        "sample.rs",
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
        "#]],
    );
}

#[test]
fn python() {
    check(
        "sample.py",
        expect![[r#"
            3 variable TIMEOUT
            7 class Worker
            10 function run_once
            14 function main
        "#]],
    );
}

#[test]
fn typescript() {
    check(
        "sample.ts",
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
        "#]],
    );
}

#[test]
fn tsx() {
    check(
        "sample.tsx",
        expect![[r#"
            1 function Button
            2 function press
        "#]],
    );
}

#[test]
fn javascript() {
    check(
        "sample.js",
        expect![[r#"
            3 class Queue
            4 method push
            7 function walk
            8 function drain
            9 function reset
            9 constant table
        "#]],
    );
}

#[test]
fn go() {
    check(
        "sample.go",
        expect![[r#"
            3 constant Limit
            5 variable shared
            7 type Queue
            9 type Reader
            11 function New
            13 method Push
        "#]],
    );
}

#[test]
fn java() {
    check(
        "Sample.java",
        expect![[r#"
            3 class Sample
            4 field limit
            6 constructor Sample
            8 enum Mode
            10 interface Listener
            10 method changed
            12 class Pair
            15 method close
        "#]],
    );
}

#[test]
fn c() {
    check(
        "sample.c",
        expect![[r#"
            3 macro LIMIT
            4 macro MIN
            6 struct Queue
            7 enum Mode
            8 variable counter
            11 function queue_name
            16 function queue_push
        "#]],
    );
}

#[test]
fn cpp() {
    check(
        "sample.cpp",
        expect![[r#"
            3 module queues
            5 class Queue
            7 method push
            11 type Names
            15 method size
            16 function refill
        "#]],
    );
}

#[test]
fn header_is_c_unless_it_looks_like_cpp() {
    let language_of = |text: &str| Language::detect("a.h", text.as_bytes()).unwrap().name;
    assert_eq!(language_of("struct queue;\n"), "C");
    assert_eq!(language_of("#pragma once\nnamespace queue {\n"), "C++");
}
