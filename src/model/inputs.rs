//! Raw rows to scaled inputs: the same code in training and in serving.

use crate::dataset::{ColumnKind, ColumnMoments, Encoding, Scaling, ScalingRule};
use crate::linalg::checkpoint;
use ndarray::Array2;

/// Rows between two questions whether to stop: many inputs of so few rows take milliseconds, and few inputs less than
/// the question.
const ROWS_AT_ONCE: usize = 16;

/// Seconds of a day: the first input of a date counts days, its code seconds.
const DAY: f64 = 86_400.0;

/// Encoding, then imputation, then scaling, then the metric.
#[derive(Debug, Clone, PartialEq)]
pub struct InputPipeline {
    /// Cells to numbers.
    pub encoding: Encoding,
    /// Numbers to inputs of comparable size.
    pub scaling: Scaling,
    /// M^½ of a full learned metric, d×d and symmetric: the kernel is k(M^½x, M^½x'). A diagonal one is part of the
    /// scaling.
    pub metric_root: Option<Array2<f64>>,
}

impl InputPipeline {
    /// The pipeline of a scaling rule on inputs with these moments, without a metric. The signs of a column with many
    /// levels are 64 inputs; scaled, they count as much as four. A level that none of these rows has is like one that is
    /// not known, whatever the rule: it may be that of a held-out row, which must be to the model what a new row is.
    pub fn fit(encoding: &Encoding, rule: ScalingRule, moments: &[ColumnMoments]) -> Self {
        const WEIGHT_OF_SIGNS: f64 = 0.25; // √(4/64)
        let mut scaling = Scaling::fit(rule, moments);
        for (column, range) in encoding.columns.iter().zip(encoding.input_ranges()) {
            if column.signs.is_some() && rule != ScalingRule::None {
                scaling.factor[range].iter_mut().for_each(|factor| *factor *= WEIGHT_OF_SIGNS);
            } else if column.kind == ColumnKind::Categorical && column.signs.is_none() {
                let unseen = |level: &usize| moments[*level].range().is_none_or(|(_, most)| most <= 0.0);
                range.filter(unseen).for_each(|level| scaling.factor[level] = 0.0);
            }
        }
        Self { encoding: encoding.clone(), scaling, metric_root: None }
    }

    /// d.
    pub fn input_dim(&self) -> usize {
        self.scaling.factor.len()
    }

    /// Turns rows of codes into inputs (rows×d).
    pub fn prepare<'a>(&self, rows: impl ExactSizeIterator<Item = &'a [f64]>) -> Array2<f64> {
        let scaled = self.prepare_scaled(rows);
        match &self.metric_root {
            Some(root) => product_by_rows(&scaled, root),
            None => scaled,
        }
    }

    /// Turns rows of codes into inputs before the metric (rows×d), for a map that the metric is folded into.
    pub fn prepare_scaled<'a>(&self, rows: impl ExactSizeIterator<Item = &'a [f64]>) -> Array2<f64> {
        let shape = (rows.len(), self.input_dim());
        let mut inputs = vec![0.0; shape.0 * shape.1]; // rows×d
        for (row, (codes, input)) in rows.zip(inputs.chunks_exact_mut(shape.1.max(1))).enumerate() {
            if row % ROWS_AT_ONCE == 0 {
                checkpoint();
            }
            self.encoding.encode(codes.iter().copied(), input);
            self.scaling.apply(input);
        }
        Array2::from_shape_vec(shape, inputs).expect("as many elements")
    }

    /// The codes of a typical row, whose cells could all be in a table: numbers and dates at their training mean, truth
    /// values and levels at the most frequent one, of equals the first. A mean of indicators would be a row that no table
    /// has. A missing cell counts for neither.
    pub fn typical_codes(&self) -> Vec<f64> {
        let code = |(kind, inputs): (ColumnKind, std::ops::Range<usize>)| {
            let means = &self.scaling.fill[inputs];
            match (kind, means) {
                (ColumnKind::Numeric, [mean]) => *mean,
                (ColumnKind::Boolean, [share]) => f64::from(u8::from(*share > 0.5)),
                (ColumnKind::Date, [days, ..]) => days.round() * DAY,
                (ColumnKind::Datetime, [days, ..]) => days * DAY,
                (ColumnKind::Categorical, [first, rest @ ..]) => {
                    let most = |best: (usize, f64), (level, share): (usize, &f64)| {
                        if *share > best.1 { (level + 1, *share) } else { best }
                    };
                    rest.iter().enumerate().fold((0, *first), most).0 as f64
                }
                // Columns without inputs.
                (
                    ColumnKind::Numeric
                    | ColumnKind::Boolean
                    | ColumnKind::Categorical
                    | ColumnKind::Date
                    | ColumnKind::Datetime
                    | ColumnKind::Text,
                    _,
                ) => f64::NAN,
            }
        };
        let kinds = self.encoding.columns.iter().map(|column| column.kind);
        kinds.zip(self.encoding.input_ranges()).map(code).collect()
    }
}

/// XR, row by row: a row has the same bits in any batch, which products of whole blocks do not promise.
fn product_by_rows(inputs: &Array2<f64>, root: &Array2<f64>) -> Array2<f64> {
    let mut products = Array2::zeros(inputs.dim());
    for (input, mut product) in inputs.rows().into_iter().zip(products.rows_mut()) {
        checkpoint(); // a row takes d² steps
        for (value, row) in input.iter().zip(root.rows()) {
            product.scaled_add(*value, &row);
        }
    }
    products
}

/// The smallest and the largest value that a column has in the fitted rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnRange {
    /// A number, or for dates seconds since 1970.
    pub low: f64,
    /// At least `low`.
    pub high: f64,
}

impl ColumnRange {
    /// Whether a value lies between the ends, or is one of them.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The range of each input column; none for levels and truth values, and where every cell was missing.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnRanges {
    /// In the order of the columns.
    pub columns: Vec<Option<ColumnRange>>,
}

impl ColumnRanges {
    /// The ranges of columns whose inputs have these moments.
    pub fn of(encoding: &Encoding, moments: &[ColumnMoments]) -> Self {
        let of_column = |(kind, inputs): (ColumnKind, std::ops::Range<usize>)| {
            let (low, high) = moments.get(inputs.start).filter(|_| !inputs.is_empty())?.range()?;
            match kind {
                ColumnKind::Numeric => Some(ColumnRange { low, high }),
                // Whole seconds, outwards: an instant at the end of the range must not fall out of it by rounding.
                ColumnKind::Date | ColumnKind::Datetime => {
                    Some(ColumnRange { low: (low * DAY).floor(), high: (high * DAY).ceil() })
                }
                ColumnKind::Boolean | ColumnKind::Categorical | ColumnKind::Text => None,
            }
        };
        let kinds = encoding.columns.iter().map(|column| column.kind);
        Self { columns: kinds.zip(encoding.input_ranges()).map(of_column).collect() }
    }

    /// The ranges of these rows and others together.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        let both = |(one, other): (&Option<ColumnRange>, &Option<ColumnRange>)| match (one, other) {
            (Some(one), Some(other)) => {
                Some(ColumnRange { low: one.low.min(other.low), high: one.high.max(other.high) })
            }
            (range, None) | (None, range) => *range,
        };
        Self { columns: self.columns.iter().zip(&others.columns).map(both).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::InputColumn;

    fn encoding() -> Encoding {
        let column = InputColumn::plain;
        Encoding {
            columns: vec![
                column("colour", ColumnKind::Categorical, &["green", "red"]),
                column("size", ColumnKind::Numeric, &[]),
                column("when", ColumnKind::Datetime, &[]),
                column("empty", ColumnKind::Numeric, &[]),
            ],
        }
    }

    fn moments(encoding: &Encoding, rows: &[[f64; 4]]) -> Vec<ColumnMoments> {
        let mut moments = vec![ColumnMoments::EMPTY; encoding.input_dim()];
        let mut inputs = vec![0.0; encoding.input_dim()];
        for row in rows {
            encoding.encode(row.iter().copied(), &mut inputs);
            moments.iter_mut().zip(&inputs).for_each(|(moments, value)| moments.observe(*value));
        }
        moments
    }

    /// A held-out row may have the only cell of a level, and a new row may have a level that is not known: neither is in any
    /// fitted row, so that both are the same to the model, whatever the scaling.
    #[test]
    fn a_level_of_no_fitted_row_is_like_an_unknown_one() {
        let encoding = encoding();
        let fitted = moments(&encoding, &[[0.0, 1.0, 0.0, f64::NAN], [0.0, 3.0, 1e6, f64::NAN]]);
        let row = |colour: f64| [colour, 2.0, 5e5, 0.0];
        let rules = [ScalingRule::None, ScalingRule::Standard, ScalingRule::Minmax, ScalingRule::Unit];
        for rule in rules {
            let pipeline = InputPipeline::fit(&encoding, rule, &fitted);
            let prepared = |colour: f64| pipeline.prepare([&row(colour)[..]].into_iter());
            assert_eq!(prepared(1.0), prepared(-1.0), "{rule:?}");
        }
        let fitted = moments(&encoding, &[[0.0, 1.0, 0.0, 1.0], [1.0, 3.0, 1e6, 1.0]]);
        let pipeline = InputPipeline::fit(&encoding, ScalingRule::None, &fitted);
        assert_eq!(pipeline.scaling.factor, [1.0; 20][..pipeline.input_dim()]);
    }

    fn ranges(rows: &[[f64; 4]]) -> ColumnRanges {
        ColumnRanges::of(&encoding(), &moments(&encoding(), rows))
    }

    /// Two of three are red, one has no colour; the mean date is a date, and a column without cells has the code that
    /// fills it.
    #[test]
    fn a_typical_row_has_cells_that_a_table_could_have() {
        let nan = f64::NAN;
        let rows = [[1.0, 2.5, 0.0, nan], [nan, -1.0, 2.0 * DAY, nan], [0.0, 3.0, DAY, nan], [1.0, nan, nan, nan]];
        let encoding = encoding();
        let scaling = Scaling::fit(crate::dataset::ScalingRule::None, &moments(&encoding, &rows));
        let inputs = InputPipeline { encoding, scaling, metric_root: None };
        assert_eq!(inputs.typical_codes(), [1.0, 1.5, DAY, 0.0]);
        let prepared = inputs.prepare([inputs.typical_codes().as_slice()].into_iter());
        assert_eq!(prepared.row(0).to_vec()[..3], [0.0, 1.0, 1.5]);
    }

    #[test]
    fn numbers_and_instants_have_ranges() {
        let nan = f64::NAN;
        let found =
            ranges(&[[0.0, 2.5, 1_774_915_201.0, nan], [1.0, -1.0, nan, nan], [nan, 2.0, 1_774_915_207.0, nan]]);
        let [colour, size, when, empty] = found.columns[..] else { panic!() };
        assert_eq!((colour, size, empty), (None, Some(ColumnRange { low: -1.0, high: 2.5 }), None));
        let when = when.unwrap();
        assert!(when.contains(1_774_915_201.0) && when.contains(1_774_915_207.0));
        assert!(!when.contains(1_774_915_199.0) && !when.contains(1_774_915_209.0));
    }

    #[test]
    fn added_rows_widen_a_range() {
        let nan = f64::NAN;
        let both = ranges(&[[nan, 2.0, nan, nan]]).with(&ranges(&[[nan, 7.0, 0.0, nan]]));
        assert_eq!(both.columns[1], Some(ColumnRange { low: 2.0, high: 7.0 }));
        assert_eq!(both.columns[2], Some(ColumnRange { low: 0.0, high: 0.0 }));
    }
}
