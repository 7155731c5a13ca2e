//! Raw rows to numeric inputs: one-hot levels, missing cells.
//!
//! Training rows and prediction rows take the same path: cells become codes, codes become inputs.

use super::{ColumnKind, Schema};
use serde::{Deserialize, Serialize};

/// An input column as a model remembers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputColumn {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// The levels of a categorical column.
    pub levels: Vec<String>,
}

/// One cell of a prediction request.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Not given.
    Missing,
    /// A number.
    Number(f64),
    /// A truth value.
    Boolean(bool),
    /// A text.
    Text(String),
}

/// Why a cell does not fit its column.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EncodingError {
    /// NaN or infinity.
    #[error("not a finite number")]
    NotFinite,
    /// A text where a number belongs.
    #[error("a number is expected here")]
    NotANumber,
    /// A number where a text belongs.
    #[error("a text is expected here")]
    NotAText,
}

/// Code of a level that training did not see: it encodes as all zeros.
const UNKNOWN_LEVEL: f64 = -1.0;

/// How raw cells become the d inputs of a feature map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Encoding {
    /// The input columns, in the order of the data set, without the target.
    pub columns: Vec<InputColumn>,
}

impl Encoding {
    /// The encoding of a data set's inputs.
    pub fn of(schema: &Schema) -> Self {
        let inputs = schema.columns.iter().enumerate().filter(|(index, _)| *index != schema.target);
        let columns = inputs.map(|(_, column)| InputColumn {
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
    /// Inputs this column becomes.
    fn width(&self) -> usize {
        match self.kind {
            ColumnKind::Numeric | ColumnKind::Boolean => 1,
            ColumnKind::Categorical => self.levels.len(),
        }
    }

    /// The code of a cell of this column: what the table would hold.
    pub fn code(&self, cell: &Cell) -> Result<f64, EncodingError> {
        match (self.kind, cell) {
            (_, Cell::Missing) => Ok(f64::NAN),
            (ColumnKind::Categorical, Cell::Text(text)) => Ok(self.level_code(text)),
            (ColumnKind::Categorical, Cell::Boolean(value)) => Ok(self.level_code(&value.to_string())),
            (ColumnKind::Categorical, Cell::Number(_)) => Err(EncodingError::NotAText),
            (ColumnKind::Numeric | ColumnKind::Boolean, Cell::Number(number)) if number.is_finite() => Ok(*number),
            (ColumnKind::Numeric | ColumnKind::Boolean, Cell::Number(_)) => Err(EncodingError::NotFinite),
            (ColumnKind::Boolean | ColumnKind::Numeric, Cell::Boolean(value)) => Ok(f64::from(u8::from(*value))),
            (ColumnKind::Boolean | ColumnKind::Numeric, Cell::Text(_)) => Err(EncodingError::NotANumber),
        }
    }

    /// Whether this is the code of a level that training did not see.
    pub fn is_unknown(&self, code: f64) -> bool {
        self.kind == ColumnKind::Categorical && code == UNKNOWN_LEVEL
    }

    fn level_code(&self, text: &str) -> f64 {
        let index = self.levels.binary_search_by(|level| level.as_str().cmp(text));
        index.map_or(UNKNOWN_LEVEL, |index| index as f64)
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
            encoding.columns.iter().zip(&cells).map(|(column, cell)| column.code(cell)).collect::<Result<_, _>>()?;
        let mut inputs = vec![9.0; encoding.input_dim()];
        encoding.encode(codes.into_iter(), &mut inputs);
        Ok(inputs)
    }

    #[test]
    fn levels_become_indicators() {
        let row = encode([Cell::Number(2.5), Cell::Text("red".into()), Cell::Boolean(true)]).unwrap();
        assert_eq!(row, [2.5, 0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn an_unknown_level_is_all_zeros_and_a_missing_one_is_missing() {
        let row = encode([Cell::Number(1.0), Cell::Text("pink".into()), Cell::Boolean(false)]).unwrap();
        assert_eq!(row, [1.0, 0.0, 0.0, 0.0, 0.0]);
        let row = encode([Cell::Missing, Cell::Missing, Cell::Boolean(false)]).unwrap();
        assert!(row[..4].iter().all(|value| value.is_nan()));
    }

    #[test]
    fn cells_of_the_wrong_kind_are_refused() {
        let cells = |first, second| [first, second, Cell::Boolean(false)];
        let red = || Cell::Text("red".into());
        assert_eq!(encode(cells(Cell::Text("2".into()), red())), Err(EncodingError::NotANumber));
        assert_eq!(encode(cells(Cell::Number(f64::NAN), red())), Err(EncodingError::NotFinite));
        assert_eq!(encode(cells(Cell::Number(1.0), Cell::Number(3.0))), Err(EncodingError::NotAText));
    }
}
