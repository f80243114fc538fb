//! Escapes any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windlass_core_fuzz::escape(bytes));
