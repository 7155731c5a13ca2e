//! CSV: the reader of uploads, and the rows of predictions. The first byte chooses the options.
#![no_main]

use bochner::dataset::{CsvOptions, CsvTable};
use bochner::serving::Format;
use bochner_fuzz::read_table;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    let delimiter = b",;\t|"[usize::from(*choice & 3)];
    let header = [None, Some(true), Some(false)][usize::from(*choice >> 2) % 3];
    let options = CsvOptions { delimiter, header };
    read_table(Format::Csv, options, bytes);
    let Ok(mut table) = CsvTable::new(bytes, options, 8) else { return };
    assert!(table.names.len() <= 8);
    let mut line = 0;
    while let Ok(true) = table.advance() {
        assert!(table.line() > line, "lines are counted upwards");
        line = table.line();
        for column in 0..table.names.len() {
            let _ = table.cell(column).map(str::len);
        }
    }
});
