//! The native JSON request, whole and in two parts: rows that are scanned while the body arrives are the same rows.
#![no_main]

use bochner::serving::{RowScan, read_request};
use bochner_fuzz::MODELS;
use libfuzzer_sys::fuzz_target;

const ROWS: usize = 100;

fuzz_target!(|input: &[u8]| {
    let Some((cut, body)) = input.split_first() else { return };
    for model in MODELS.iter() {
        let whole = read_request(body, RowScan::of_request(model, ROWS), model, ROWS);
        let mut scan = RowScan::of_request(model, ROWS);
        scan.advance(&body[..body.len() * usize::from(*cut) / 256], body.len());
        scan.advance(body, body.len());
        let parts = read_request(body, scan, model, ROWS);
        match (whole, parts) {
            (Ok(whole), Ok(parts)) => {
                let bits = |row: &[f64]| row.iter().map(|code| code.to_bits()).collect::<Vec<_>>();
                assert!(whole.block.rows().map(bits).eq(parts.block.rows().map(bits)));
                assert!(whole.block.len() <= ROWS);
            }
            (Err(whole), Err(parts)) => assert_eq!(format!("{whole:?}"), format!("{parts:?}")),
            (whole, parts) => panic!("{whole:?} as a whole, {parts:?} in parts"),
        }
    }
});
