//! Fuzzes the chat API with arbitrary bytes, in both directions.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windlass_wire_fuzz::check(windlass_wire::Dialect::Chat, bytes));
