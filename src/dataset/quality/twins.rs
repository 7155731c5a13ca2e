//! Columns that say the same, and rows that come twice.

use super::{Finding, FindingCode, Severity};
use crate::dataset::cells::Codes;
use crate::dataset::{Column, ColumnKind, Schema};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Most cells that are kept to compare columns.
const SAMPLED_CELLS: usize = 200_000;

/// Most rows of them; two columns that agree on so many say the same.
const SAMPLED_ROWS: usize = 2_000;

/// Fewer rows say nothing about whether two columns are the same.
const FEWEST_ROWS: usize = 20;

/// Most columns that are compared with each other; all are compared with the target.
const COMPARED_COLUMNS: usize = 200;

/// Most rows of which a hash is kept.
const HASHED_ROWS: usize = 1_000_000;

/// Share of a column's variance that another explains if they say the same.
const SAME: f64 = 1.0 - 1e-9;

/// Share of the target's variance that one column explains if it is nearly the target.
const LEAK: f64 = 0.9999;

/// The first rows of a table as texts, and how many rows came twice.
pub(in crate::dataset) struct RowSample {
    width: usize,
    rows: usize,
    wanted: usize,
    cells: Vec<String>,
    hashes: HashSet<u64>,
    hasher: DefaultHasher,
    duplicates: u64,
    seen: u64,
}

impl RowSample {
    pub(in crate::dataset) fn new(width: usize) -> Self {
        Self {
            width,
            rows: 0,
            wanted: (SAMPLED_CELLS / width.max(1)).min(SAMPLED_ROWS),
            cells: Vec::new(),
            hashes: HashSet::new(),
            hasher: DefaultHasher::new(),
            duplicates: 0,
            seen: 0,
        }
    }

    pub(in crate::dataset) fn begin_row(&mut self) {
        self.hasher = DefaultHasher::new();
    }

    /// Adds the next cell of the current row.
    pub(in crate::dataset) fn add(&mut self, cell: &str) {
        if self.rows < self.wanted {
            self.cells.push(cell.to_owned());
        }
        if self.hashes.len() < HASHED_ROWS {
            cell.hash(&mut self.hasher);
        }
    }

    pub(in crate::dataset) fn end_row(&mut self) {
        self.rows += usize::from(self.rows < self.wanted);
        if self.hashes.len() < HASHED_ROWS {
            self.seen += 1;
            self.duplicates += u64::from(!self.hashes.insert(self.hasher.finish()));
        }
    }

    /// What the sample tells about a table.
    pub(super) fn findings(&self, schema: &Schema) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.duplicate_rows().into_iter().collect();
        if self.rows < FEWEST_ROWS {
            return findings;
        }
        let codes: Vec<Vec<f64>> =
            schema.columns.iter().enumerate().map(|(index, column)| self.codes(index, column)).collect();
        let is_input = |index: &usize| {
            let column = &schema.columns[*index];
            !schema.targets.contains(index) && column.reading.left_out.is_none() && column.distinct > 1
        };
        let inputs: Vec<usize> = (0..schema.columns.len()).filter(is_input).collect();
        let view = |index: usize| (&schema.columns[index], codes[index].as_slice());
        for &input in &inputs {
            for &target in &schema.targets {
                findings.extend(leak(view(input), view(target), self.rows));
            }
        }
        for (at, &second) in inputs.iter().enumerate().take(COMPARED_COLUMNS) {
            let first = inputs[..at].iter().find(|first| agreement(view(**first), view(second)) > SAME);
            findings.extend(first.map(|&first| self.duplicate(&schema.columns[first], &schema.columns[second])));
        }
        findings
    }

    fn duplicate(&self, first: &Column, second: &Column) -> Finding {
        let detail = format!("in the first {} rows it says the same as column '{}'", self.rows, first.name);
        let action = format!("Leave one of them out with ignore={}.", second.name);
        Finding::warning(&second.name, FindingCode::DuplicateColumn, detail, action)
    }

    fn duplicate_rows(&self) -> Option<Finding> {
        (self.duplicates > 0).then(|| Finding {
            column: None,
            code: FindingCode::DuplicateRows,
            severity: if self.duplicates * 20 >= self.seen { Severity::Warning } else { Severity::Note },
            detail: format!("{} of {} rows are copies of earlier rows", self.duplicates, self.seen),
            action: "Remove them if they are the same observation: a copy in the validation rows makes the error look \
                     smaller."
                .to_owned(),
        })
    }

    fn codes(&self, index: usize, column: &Column) -> Vec<f64> {
        let codes = Codes::of(column);
        (0..self.rows).map(|row| codes.code(&self.cells[row * self.width + index])).collect()
    }
}

fn leak(input: (&Column, &[f64]), target: (&Column, &[f64]), rows: usize) -> Option<Finding> {
    let shared = agreement(input, target);
    (shared >= LEAK).then(|| {
        let name = &input.0.name;
        let detail = format!(
            "in the first {rows} rows it says nearly the same as the target '{}' (it explains {:.2}% of it)",
            target.0.name,
            100.0 * shared
        );
        let action = format!("If it is not known when predictions are made, leave it out with ignore={name}.");
        Finding::warning(name, FindingCode::TargetLeak, detail, action)
    })
}

/// How much of one column the other explains: the squared correlation of numbers, 1 for levels that stand for each other.
fn agreement(one: (&Column, &[f64]), other: (&Column, &[f64])) -> f64 {
    let are_levels = |column: &Column| match column.kind {
        ColumnKind::Categorical => true,
        ColumnKind::Numeric | ColumnKind::Boolean | ColumnKind::Date | ColumnKind::Datetime | ColumnKind::Text => false,
    };
    match (are_levels(one.0), are_levels(other.0)) {
        (false, false) => squared_correlation(one.1, other.1),
        (true, true) => f64::from(u8::from(are_renamed(one.1, other.1))),
        (true, false) | (false, true) => 0.0,
    }
}

fn squared_correlation(one: &[f64], other: &[f64]) -> f64 {
    let known: Vec<(f64, f64)> =
        one.iter().copied().zip(other.iter().copied()).filter(|(x, y)| !x.is_nan() && !y.is_nan()).collect();
    // A column that is missing where the other is not does not say the same.
    if known.len() < FEWEST_ROWS || known.len() * 20 < one.len() * 19 {
        return 0.0;
    }
    let count = known.len() as f64;
    let (mean_x, mean_y) =
        (known.iter().map(|(x, _)| x).sum::<f64>() / count, known.iter().map(|(_, y)| y).sum::<f64>() / count);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in known {
        let (x, y) = (x - mean_x, y - mean_y);
        (xx, yy, xy) = (xx + x * x, yy + y * y, xy + x * y);
    }
    if xx > 0.0 && yy > 0.0 { xy * xy / (xx * yy) } else { 0.0 }
}

/// Whether each code of one column goes with one code of the other, and the other way round.
fn are_renamed(one: &[f64], other: &[f64]) -> bool {
    let pairs: HashSet<(u64, u64)> = one.iter().zip(other).map(|(x, y)| (x.to_bits(), y.to_bits())).collect();
    let firsts: HashSet<u64> = pairs.iter().map(|(x, _)| *x).collect();
    let seconds: HashSet<u64> = pairs.iter().map(|(_, y)| *y).collect();
    pairs.len() == firsts.len() && pairs.len() == seconds.len() && pairs.len() > 1 && pairs.len() * 2 <= one.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_say_the_same_are_found() {
        let line: Vec<f64> = (0..40).map(f64::from).collect();
        let scaled: Vec<f64> = line.iter().map(|x| 7.0 - 0.25 * x).collect();
        let curve: Vec<f64> = line.iter().map(|x| (x * 0.7).sin()).collect();
        assert!(squared_correlation(&line, &scaled) > SAME && squared_correlation(&line, &curve) < 0.5);
        let codes: Vec<f64> = (0..40).map(|i| f64::from(i % 3)).collect();
        let renamed: Vec<f64> = codes.iter().map(|code| 2.0 - code).collect();
        let coarse: Vec<f64> = codes.iter().map(|code| code.min(1.0)).collect();
        assert!(are_renamed(&codes, &renamed) && !are_renamed(&codes, &coarse) && !are_renamed(&line, &scaled));
    }

    #[test]
    fn rows_that_come_twice_are_counted() {
        let mut sample = RowSample::new(2);
        for row in [["1", "2"], ["12", ""], ["1", "2"]] {
            sample.begin_row();
            for cell in row {
                sample.add(cell);
            }
            sample.end_row();
        }
        assert_eq!((sample.duplicates, sample.seen), (1, 3));
    }
}
