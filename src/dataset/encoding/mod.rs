//! Raw rows to numeric inputs: one-hot levels, signs of levels, missing cells.
//!
//! Training rows and prediction rows take the same path: cells become codes, codes become inputs.

/// An input column: from cells to the numbers that stand for them.
mod input_column;

/// The inputs of a text column with many levels.
mod level_signs;

use super::{ColumnKind, DateParts, Roles, Schema};
pub use input_column::{Cell, EncodingError, InputColumn};
pub use level_signs::{LEVEL_INPUTS, LevelSigns, MOST_INDICATORS};

/// How raw cells become the d inputs of a feature map.
///
/// ```
/// use bochner::dataset::{Cell, ColumnKind, Encoding, InputColumn};
///
/// let area = InputColumn::plain("area", ColumnKind::Numeric, &[]);
/// let district = InputColumn::plain("district", ColumnKind::Categorical, &["harbour", "hill"]);
/// let codes = [area.code(Cell::Text("94.9")).unwrap(), district.code(Cell::Text("hill")).unwrap()];
/// let encoding = Encoding { columns: vec![area, district] };
/// assert_eq!(encoding.input_names(), ["area", "district=harbour", "district=hill"]);
/// let mut inputs = [0.0; 3];
/// encoding.encode(codes.into_iter(), &mut inputs);
/// assert_eq!(inputs, [94.9, 0.0, 1.0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Encoding {
    /// The input columns in the order of the dataset, without targets and weight.
    pub columns: Vec<InputColumn>,
}

impl Encoding {
    /// The encoding of a dataset's inputs.
    pub fn of(schema: &Schema, roles: &Roles) -> Self {
        let columns = roles.inputs.iter().map(|&index| &schema.columns[index]).map(|column| InputColumn {
            name: column.name.clone(),
            kind: column.kind,
            levels: column.levels.clone(),
            signs: LevelSigns::of(&column.levels),
            notation: column.reading.notation.clone(),
        });
        Self { columns: columns.collect() }
    }

    /// Whether a column has so many levels that they are signs.
    pub fn has_signs(&self) -> bool {
        self.columns.iter().any(|column| column.signs.is_some())
    }

    /// Takes rare levels together, in columns whose levels are signs; `rows` are those of each level of each column.
    pub fn join_rare(&mut self, rows: &[Vec<u64>]) {
        for (column, rows) in self.columns.iter_mut().zip(rows) {
            column.signs.iter_mut().for_each(|signs| signs.join_rare(rows));
        }
    }

    /// d, after levels have become indicators or signs.
    pub fn input_dim(&self) -> usize {
        self.columns.iter().map(InputColumn::width).sum()
    }

    /// Names of the d inputs: the column, followed by `=level` for an indicator, by `~0` to `~63` for a sign and by `.year`
    /// or the like for a date.
    pub fn input_names(&self) -> Vec<String> {
        let parts = |name: &str, parts: DateParts| parts.names().iter().map(|part| format!("{name}.{part}")).collect();
        let names = |column: &InputColumn| match column.kind {
            ColumnKind::Numeric | ColumnKind::Boolean => vec![column.name.clone()],
            ColumnKind::Categorical if column.signs.is_some() => {
                (0..LEVEL_INPUTS).map(|sign| format!("{}~{sign}", column.name)).collect()
            }
            ColumnKind::Categorical => column.levels.iter().map(|level| format!("{}={level}", column.name)).collect(),
            ColumnKind::Date => parts(&column.name, DateParts::Date),
            ColumnKind::Datetime => parts(&column.name, DateParts::DateAndTime),
            ColumnKind::Text => Vec::new(),
        };
        self.columns.iter().flat_map(names).collect()
    }

    /// The inputs of each column.
    pub fn input_ranges(&self) -> Vec<std::ops::Range<usize>> {
        let mut end = 0;
        let range = |column: &InputColumn| {
            end += column.width();
            end - column.width()..end
        };
        self.columns.iter().map(range).collect()
    }

    /// The column an input belongs to.
    pub fn column_of(&self, input: usize) -> Option<&InputColumn> {
        let mut end = 0;
        self.columns.iter().find(|column| {
            end += column.width();
            input < end
        })
    }

    /// Encodes one row of codes into `inputs` (d). Missing cells become NaN in all their inputs.
    pub fn encode(&self, codes: impl Iterator<Item = f64>, inputs: &mut [f64]) {
        let mut at = 0;
        for (column, code) in self.columns.iter().zip(codes) {
            let width = column.width();
            let target = &mut inputs[at..at + width];
            match column.kind {
                ColumnKind::Numeric | ColumnKind::Boolean => target[0] = code,
                ColumnKind::Categorical | ColumnKind::Date | ColumnKind::Datetime if code.is_nan() => {
                    target.fill(f64::NAN);
                }
                ColumnKind::Date => DateParts::Date.write(code, target),
                ColumnKind::Datetime => DateParts::DateAndTime.write(code, target),
                ColumnKind::Text => {}
                ColumnKind::Categorical => {
                    if let Some(signs) = &column.signs {
                        signs.write(code, target);
                    } else {
                        target.fill(0.0);
                        if code >= 0.0 {
                            target[code as usize] = 1.0;
                        }
                    }
                }
            }
            at += width;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Notation;

    fn encoding() -> Encoding {
        let column = InputColumn::plain;
        Encoding {
            columns: vec![
                column("size", ColumnKind::Numeric, &[]),
                column("colour", ColumnKind::Categorical, &["blue", "green", "red"]),
                column("new", ColumnKind::Boolean, &[]),
            ],
        }
    }

    fn encode(cells: [Cell; 3]) -> Result<Vec<f64>, EncodingError> {
        let encoding = encoding();
        let codes: Vec<f64> =
            encoding.columns.iter().zip(&cells).map(|(column, cell)| column.code(*cell)).collect::<Result<_, _>>()?;
        let mut inputs = vec![9.0; encoding.input_dim()];
        encoding.encode(codes.into_iter(), &mut inputs);
        Ok(inputs)
    }

    #[test]
    fn levels_become_indicators() {
        let row = encode([Cell::Number(2.5), Cell::Text("red"), Cell::Boolean(true)]).unwrap();
        assert_eq!(row, [2.5, 0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn an_unknown_level_is_all_zeros_and_a_missing_one_is_missing() {
        let row = encode([Cell::Number(1.0), Cell::Text("pink"), Cell::Boolean(false)]).unwrap();
        assert_eq!(row, [1.0, 0.0, 0.0, 0.0, 0.0]);
        let row = encode([Cell::Missing, Cell::Missing, Cell::Boolean(false)]).unwrap();
        assert!(row[..4].iter().all(|value| value.is_nan()));
    }

    #[test]
    fn cells_of_the_wrong_kind_are_refused() {
        let cells = |first, second| [first, second, Cell::Boolean(false)];
        let red = || Cell::Text("red");
        assert_eq!(encode(cells(Cell::Text("two"), red())), Err(EncodingError::NotANumber));
        assert_eq!(encode(cells(Cell::Boolean(true), red())), Err(EncodingError::NotANumber));
        assert_eq!(encode(cells(Cell::Number(f64::NAN), red())), Err(EncodingError::NotFinite));
        let seven = [Cell::Number(1.0), red(), Cell::Number(7.0)];
        assert_eq!(encode(seven), Err(EncodingError::NotABoolean));
    }

    #[test]
    fn texts_are_read_as_in_an_upload() {
        let cells = |first, third| [first, Cell::Text("red"), third];
        let row = encode(cells(Cell::Text(" $1,048.52 "), Cell::Text("yes"))).unwrap();
        assert_eq!((row[0], row[4]), (1048.52, 1.0)); // as in an upload
        assert!(encode(cells(Cell::Text("unknown"), Cell::Text("No"))).unwrap()[0].is_nan());
        let own = Notation { missing: vec!["-999".into()], ..Notation::default() };
        let column =
            InputColumn { name: "x".into(), kind: ColumnKind::Numeric, levels: vec![], signs: None, notation: own };
        assert!(column.code(Cell::Number(-999.0)).unwrap().is_nan() && !column.takes_numbers_as_they_are());
    }

    #[test]
    fn a_date_becomes_parts_on_circles() {
        let column = |kind| InputColumn::plain("when", kind, &[]);
        let encoding = Encoding { columns: vec![column(ColumnKind::Date)] };
        let code = encoding.columns[0].code(Cell::Text("2026-03-31")).unwrap();
        assert_eq!(code, 1_774_915_200.0);
        let mut inputs = [0.0; 6];
        encoding.encode([code].into_iter(), &mut inputs);
        assert_eq!((inputs[1], encoding.input_names()[1].as_str()), (2026.0, "when.year"));
        assert_eq!(encoding.columns[0].code(Cell::Number(5.0)), Err(EncodingError::NotADate));
    }

    #[test]
    fn many_levels_become_signs() {
        let levels: Vec<String> = (0..250).map(|level| format!("{level:03}")).collect();
        let signs = LevelSigns::of(&levels);
        let notation = Notation::default();
        let many = InputColumn { name: "zip".into(), kind: ColumnKind::Categorical, levels, signs, notation };
        let mut encoding = Encoding { columns: vec![many, encoding().columns.remove(0)] };
        assert_eq!((encoding.input_dim(), encoding.has_signs()), (LEVEL_INPUTS + 1, true));
        assert_eq!(encoding.input_names()[LEVEL_INPUTS - 1..], ["zip~63", "size"]);
        assert_eq!(encoding.input_ranges(), [0..LEVEL_INPUTS, LEVEL_INPUTS..LEVEL_INPUTS + 1]);
        let row = |encoding: &Encoding, cell: Cell| {
            let mut inputs = vec![9.0; encoding.input_dim()];
            let code = encoding.columns[0].code(cell).unwrap();
            encoding.encode([code, 2.5].into_iter(), &mut inputs);
            inputs
        };
        let known = row(&encoding, Cell::Text("017"));
        assert!(known[..LEVEL_INPUTS].iter().all(|input| input.abs() == 0.125) && known[LEVEL_INPUTS] == 2.5);
        assert!(known != row(&encoding, Cell::Text("018")));
        assert!(row(&encoding, Cell::Missing)[..LEVEL_INPUTS].iter().all(|input| input.is_nan()));
        let mut rows = vec![9; 250];
        rows[17] = 1;
        encoding.join_rare(&[rows, vec![]]);
        assert_eq!(row(&encoding, Cell::Text("017")), row(&encoding, Cell::Text("never seen")));
        assert!(row(&encoding, Cell::Text("017")) != known);
    }
}
