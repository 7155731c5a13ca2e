//! Key files: what can be read is the same when it is written and read again. The first line is a text to be looked up.
#![no_main]

use bochner::keys::KeyRing;
use libfuzzer_sys::fuzz_target;
use std::time::SystemTime;

fuzz_target!(|input: &[u8]| {
    let line = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let Ok(ring) = KeyRing::parse(input.get(line + 1..).unwrap_or_default()) else { return };
    let again = KeyRing::parse(ring.to_text().as_bytes()).expect("a file that was written can be read");
    assert!(again.iter().eq(ring.iter()));
    if let Ok(text) = std::str::from_utf8(&input[..line]) {
        assert_eq!(ring.find(text), again.find(text));
    }
    for key in ring.iter() {
        key.has_expired(SystemTime::now());
        key.covers("houses");
    }
});
