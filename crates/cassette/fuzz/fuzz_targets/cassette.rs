//! Parses any bytes as a cassette.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windlass_cassette_fuzz::cassette(bytes));
