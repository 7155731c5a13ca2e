//! Cells of tables as people write them: numbers, truth values, dates. The first byte chooses the notation.
#![no_main]

use bochner::dataset::{Cell, ColumnKind, DateOrder, DecimalMark, InputColumn, Notation, Reading};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((choice, text)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let decimal = if choice & 1 == 0 { DecimalMark::Point } else { DecimalMark::Comma };
    let order = if choice & 2 == 0 { DateOrder::MonthFirst } else { DateOrder::DayFirst };
    let missing = if choice & 4 == 0 { Vec::new() } else { vec!["-999".to_owned()] };
    let notation = Notation { decimal, order, missing };
    for reading in [notation.number(text), notation.truth(text), notation.instant(text)] {
        if let Reading::Number(number) = reading {
            assert!(number.is_finite(), "'{text}' is {number}");
        }
    }
    let levels = vec!["-0".to_owned(), "1.0".to_owned(), "True".to_owned(), "red".to_owned()];
    for kind in
        [ColumnKind::Numeric, ColumnKind::Boolean, ColumnKind::Categorical, ColumnKind::Date, ColumnKind::Datetime]
    {
        let levels = if kind == ColumnKind::Categorical { levels.clone() } else { Vec::new() };
        let column = InputColumn { name: "x".into(), kind, levels, signs: None, notation: notation.clone() };
        if let Ok(code) = column.code(Cell::Text(text)) {
            assert!(!code.is_infinite(), "'{text}' has the code {code}");
        }
    }
});
