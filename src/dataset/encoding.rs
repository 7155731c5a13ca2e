//! Raw rows to numeric inputs: one-hot levels, missing cells.
//!
//! Training rows and prediction rows take the same path: cells become codes, codes become inputs.

use super::profile::{Reading, read};
use super::{ColumnKind, Roles, Schema};
use serde::{Deserialize, Serialize};

/// An input column as it is kept with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputColumn {
    /// Unique among the columns of a table.
    pub name: String,
    /// Decides how cells are read.
    pub kind: ColumnKind,
    /// The levels of a categorical column, sorted; empty for other kinds.
    pub levels: Vec<String>,
}

/// One cell of a prediction request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// An empty cell, or JSON null.
    Missing,
    /// A number.
    Number(f64),
    /// JSON true or false.
    Boolean(bool),
    /// A text.
    Text(&'a str),
}

/// Why a cell does not fit its column.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EncodingError {
    /// NaN or infinity.
    #[error("not a finite number")]
    NotFinite,
    /// A text where a number belongs.
    #[error("expected a number")]
    NotANumber,
    /// Neither true nor false.
    #[error("expected true, false, 1 or 0")]
    NotABoolean,
    /// A number of 2^53 or more as a level: different integers round to the same double.
    #[error("integers of 2^53 and above lose precision; send this level as a string")]
    Imprecise,
}

/// From here on, not every integer is a double.
const IMPRECISE: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// Code of a level that training did not see: it encodes as all zeros.
const UNKNOWN_LEVEL: f64 = -1.0;

/// How raw cells become the d inputs of a feature map.
///
/// ```
/// use bochner::dataset::{Cell, ColumnKind, Encoding, InputColumn};
///
/// let area = InputColumn { name: "area".into(), kind: ColumnKind::Numeric, levels: vec![] };
/// let district = InputColumn {
///     name: "district".into(),
///     kind: ColumnKind::Categorical,
///     levels: vec!["harbour".into(), "hill".into()],
/// };
/// let codes = [area.code(Cell::Number(94.9)).unwrap(), district.code(Cell::Text("hill")).unwrap()];
/// let encoding = Encoding { columns: vec![area, district] };
/// assert_eq!(encoding.input_names(), ["area", "district=harbour", "district=hill"]);
/// let mut inputs = [0.0; 3];
/// encoding.encode(codes.into_iter(), &mut inputs);
/// assert_eq!(inputs, [94.9, 0.0, 1.0]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
        });
        Self { columns: columns.collect() }
    }

    /// d, after one-hot encoding.
    pub fn input_dim(&self) -> usize {
        self.columns.iter().map(InputColumn::width).sum()
    }

    /// Names of the d inputs: the column, followed by `=level` for an indicator.
    pub fn input_names(&self) -> Vec<String> {
        let names = |column: &InputColumn| match column.kind {
            ColumnKind::Numeric | ColumnKind::Boolean => vec![column.name.clone()],
            ColumnKind::Categorical => column.levels.iter().map(|level| format!("{}={level}", column.name)).collect(),
        };
        self.columns.iter().flat_map(names).collect()
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
                ColumnKind::Categorical if code.is_nan() => target.fill(f64::NAN),
                ColumnKind::Categorical => {
                    target.fill(0.0);
                    if code >= 0.0 {
                        target[code as usize] = 1.0;
                    }
                }
            }
            at += width;
        }
    }
}

impl InputColumn {
    /// Number of inputs that this column becomes.
    fn width(&self) -> usize {
        match self.kind {
            ColumnKind::Numeric | ColumnKind::Boolean => 1,
            ColumnKind::Categorical => self.levels.len(),
        }
    }

    /// The code of a cell: the number that a stored table has for it.
    pub fn code(&self, cell: Cell) -> Result<f64, EncodingError> {
        match (self.kind, cell) {
            (_, Cell::Missing) => Ok(f64::NAN),
            (_, Cell::Number(number)) if !number.is_finite() => Err(EncodingError::NotFinite),
            (ColumnKind::Numeric, Cell::Number(number)) => Ok(number),
            (ColumnKind::Numeric, Cell::Boolean(_) | Cell::Text(_)) => Err(EncodingError::NotANumber),
            (ColumnKind::Boolean, Cell::Boolean(value)) => Ok(f64::from(u8::from(value))),
            (ColumnKind::Boolean, Cell::Number(number)) if number == 0.0 || number == 1.0 => Ok(number),
            (ColumnKind::Boolean, Cell::Number(_) | Cell::Text(_)) => Err(EncodingError::NotABoolean),
            // A level may look like a number or a boolean: in a table every level is text.
            (ColumnKind::Categorical, Cell::Number(number)) if number.abs() >= IMPRECISE => {
                Err(EncodingError::Imprecise)
            }
            (ColumnKind::Categorical, Cell::Number(number)) => Ok(self.number_code(number)),
            (ColumnKind::Categorical, Cell::Boolean(value)) => Ok(self.level_code(&value.to_string())),
            (ColumnKind::Categorical, Cell::Text(text)) => Ok(match read(text.trim_ascii()) {
                Reading::Missing => f64::NAN,
                Reading::Number(_) | Reading::NotFinite | Reading::Boolean(_) | Reading::Text => {
                    self.level_code(text.trim_ascii())
                }
            }),
        }
    }

    /// The code of a cell of a text format such as CSV.
    pub fn code_of_text(&self, text: &str) -> Result<f64, EncodingError> {
        match (self.kind, read(text.trim_ascii())) {
            (ColumnKind::Categorical, _) | (_, Reading::Text) => self.code(Cell::Text(text)),
            (_, Reading::Missing) => Ok(f64::NAN),
            (_, Reading::Number(number)) => self.code(Cell::Number(number)),
            (_, Reading::NotFinite) => Err(EncodingError::NotFinite),
            (_, Reading::Boolean(value)) => self.code(Cell::Boolean(value)),
        }
    }

    /// Whether this is the code of a level that training did not see.
    pub fn is_unknown(&self, code: f64) -> bool {
        self.kind == ColumnKind::Categorical && code == UNKNOWN_LEVEL
    }

    fn level_code(&self, text: &str) -> f64 {
        // `True` in a table is `true` in JSON.
        let index = self.level_written(text).or_else(|| match read(text) {
            Reading::Boolean(_) => self.levels.iter().position(|level| level.eq_ignore_ascii_case(text)),
            Reading::Number(number) if number.abs() < IMPRECISE => self.level_worth(number),
            Reading::Number(_) | Reading::Missing | Reading::NotFinite | Reading::Text => None,
        });
        index.map_or(UNKNOWN_LEVEL, |index| index as f64)
    }

    /// The code of a number. `1.0` in a table is `1` in JSON, which does not keep how a number was written, so levels are
    /// compared by value. The two usual spellings are looked up first, because that is faster.
    fn number_code(&self, number: f64) -> f64 {
        let index = self.level_written(&number.to_string());
        let index = index.or_else(|| self.level_written(&format!("{number:?}")));
        index.or_else(|| self.level_worth(number)).map_or(UNKNOWN_LEVEL, |index| index as f64)
    }

    fn level_written(&self, text: &str) -> Option<usize> {
        self.levels.binary_search_by(|level| level.as_str().cmp(text)).ok()
    }

    /// The level that is this number in other digits, unless several are.
    fn level_worth(&self, number: f64) -> Option<usize> {
        let is_worth = |level: &String| {
            level.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.'))
                && level.parse() == Ok(number)
        };
        let mut found = self.levels.iter().enumerate().filter(|(_, level)| is_worth(level)).map(|(index, _)| index);
        found.next().filter(|_| found.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding() -> Encoding {
        let column = |name: &str, kind, levels: &[&str]| InputColumn {
            name: name.into(),
            kind,
            levels: levels.iter().map(|&level| level.into()).collect(),
        };
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
        assert_eq!(encode(cells(Cell::Text("2"), red())), Err(EncodingError::NotANumber));
        assert_eq!(encode(cells(Cell::Number(f64::NAN), red())), Err(EncodingError::NotFinite));
        let seven = [Cell::Number(1.0), red(), Cell::Number(7.0)];
        assert_eq!(encode(seven), Err(EncodingError::NotABoolean));
    }

    #[test]
    fn levels_beyond_doubles_are_told_by_their_text_alone() {
        let levels = ["9007199254740991", "9007199254740992", "9007199254740993"].map(str::to_owned).to_vec();
        let column = InputColumn { name: "id".into(), kind: ColumnKind::Categorical, levels };
        assert_eq!(column.code(Cell::Text("9007199254740992")), Ok(1.0));
        assert_eq!(column.code_of_text("9007199254740993"), Ok(2.0));
        assert!(column.is_unknown(column.code_of_text("9007199254740994").unwrap()));
        assert_eq!(column.code(Cell::Number(9_007_199_254_740_991.0)), Ok(0.0));
        for number in [9_007_199_254_740_992.0, -1e300] {
            assert_eq!(column.code(Cell::Number(number)), Err(EncodingError::Imprecise));
        }
        let alone = InputColumn { levels: vec!["9007199254740992".into(), "a".into()], ..column };
        assert!(alone.is_unknown(alone.code_of_text("9007199254740993").unwrap()));
    }

    #[test]
    fn levels_that_look_like_something_else_are_found() {
        let levels = ["1", "2.5", "True", "a"].map(str::to_owned).to_vec();
        let column = InputColumn { name: "mixed".into(), kind: ColumnKind::Categorical, levels };
        assert_eq!(column.code(Cell::Number(1.0)), Ok(0.0));
        assert_eq!(column.code(Cell::Number(2.5)), Ok(1.0));
        assert_eq!(column.code(Cell::Boolean(true)), Ok(2.0));
        assert_eq!(column.code(Cell::Text(" a ")), Ok(3.0));
        assert!(column.code(Cell::Text("NA")).unwrap().is_nan());
        assert!(column.is_unknown(column.code(Cell::Text("b")).unwrap()));
    }

    #[test]
    fn a_level_is_the_same_number_in_every_format() {
        let column = |levels: &[&str]| {
            let levels = levels.iter().map(|&level| level.to_owned()).collect();
            InputColumn { name: "mixed".into(), kind: ColumnKind::Categorical, levels }
        };
        let decimals = column(&["-0", "1.0", "1e3", "2.50", "x"]);
        for (number, texts, code) in [
            (0.0, ["0", "0.0", "-0"], 0.0),
            (1.0, ["1", "1.0", "01"], 1.0),
            (1000.0, ["1000", "1e3", "1000.0"], 2.0),
            (2.5, ["2.5", "2.50", "25e-1"], 3.0),
            (7.0, ["7", "7.0", "seven"], UNKNOWN_LEVEL),
        ] {
            assert_eq!(decimals.code(Cell::Number(number)), Ok(code), "{number}");
            for text in texts {
                assert_eq!(decimals.code(Cell::Text(text)), Ok(code), "{text}");
            }
        }
        // A number that is the value of two levels is neither of them, unless it is written like one.
        let twins = column(&["1.0", "1.00"]);
        assert_eq!([twins.code(Cell::Text("1.00")), twins.code(Cell::Number(1.0))], [Ok(1.0), Ok(0.0)]);
        assert_eq!(twins.code(Cell::Text("1")), Ok(UNKNOWN_LEVEL));
    }
}
