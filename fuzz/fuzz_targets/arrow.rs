//! Arrow IPC streams.
#![no_main]

use bochner::dataset::CsvOptions;
use bochner::serving::Format;
use bochner_fuzz::read_table;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read_table(Format::Arrow, CsvOptions { delimiter: b',', header: None }, bytes));
