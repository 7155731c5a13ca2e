//! How far a model is from the exact kernel method on rows that were not fitted, or that are left out of the fit.

use super::scored_function::ScoredFunction;
use crate::model::{ExactScore, Function, TargetCoding, largest_value};
use crate::solver::{ExactKrr, NormalEquations, SolveError, compared_rows};
use crate::theory::ours::certificate_scaled::scale;
use crate::theory::{CertificateDetail, CertificateEvidence, ScaledDifferences};
use crate::training::fit::exact_system::ExactSystem;
use crate::training::rows::run::Run;
use crate::training::spec::memory::BLOCK_ROWS;
use crate::training::stage::{Stage, TrainError};
use ndarray::{Array1, Array2, ArrayView1, Axis, s};

/// Rows that are compared at most: a part of exchangeable rows is as good.
const COMPARED_ROWS: usize = 10_000;

/// Training rows that the mean of the error bars is taken over, at most.
const BAR_ROWS: usize = 4_096;

/// A row with a leverage closer to 1 cannot be left out: rounding would decide what is left.
const LEAST_REST: f64 = 1e-6;

/// The mean of (f_s − f)² over fitted rows as if each had been left out of both fits: with nλ as it is, the residual
/// y − f_s is then that of the whole fit over 1 − hᵢ, hᵢ = ψᵀ(G + λI)⁻¹ψ/n, and that of the exact method αᵢ over the
/// diagonal of (K + nλI)⁻¹. Intercepts stay. None where a fit follows the target of a row whatever it is.
pub(super) fn left_out_error(
    (parts, lambda): (Function, f64),
    system: &ExactSystem,
    (exact, diagonal): (&ExactKrr, &Array1<f64>),
    equations: &NormalEquations,
    threads: usize,
) -> Result<Option<f64>, SolveError> {
    let n = system.inputs.nrows();
    let count = n.min(compared_rows(parts.map.feature_count()));
    // Spread over all of them, because the file may be sorted.
    let rows: Vec<usize> = (0..count).map(|index| index * n / count).collect();
    let features = parts.map.projector::<f64>().transform(system.inputs.select(Axis(0), &rows).view());
    let residuals = system.centred.select(Axis(0), &rows) - features.dot(parts.weights);
    let solved = equations.factor(lambda, threads)?.solve_columns(features.t().as_standard_layout().into_owned());
    let mut sum = 0.0;
    for (at, &row) in rows.iter().enumerate() {
        let rest = 1.0 - features.row(at).dot(&solved.column(at)) / n as f64;
        if rest < LEAST_REST || system.shift() * diagonal[row] < LEAST_REST {
            return Ok(None);
        }
        let pairs = residuals.row(at).into_iter().zip(exact.coefficients.row(row));
        sum += pairs.map(|(near, far)| (far / diagonal[row] - near / rest).powi(2)).sum::<f64>();
    }
    Ok((count > 0 && sum.is_finite()).then(|| sum / count as f64))
}

/// Predictions of the model and of the exact method.
pub(super) struct Distances {
    near: Array2<f64>,
    far: Array2<f64>,
    /// h of each prediction with their mean squares over training rows, for models that keep error bars.
    bars: Option<(Array2<f64>, Vec<f64>)>,
    /// Validation, calibration and unlabelled rows.
    counts: [usize; 3],
    /// Of the training targets.
    ranges: Vec<(f64, f64)>,
    /// The exact method on the validation rows.
    pub(super) exact_score: Option<ExactScore>,
}

impl Distances {
    /// `unlabelled` says whether rows without a target had no part in any choice.
    pub(super) fn measure(
        run: &Run,
        function: &ScoredFunction,
        coding: &TargetCoding,
        (exact, ranges): (&ExactKrr, Vec<(f64, f64)>),
        unlabelled: bool,
    ) -> Result<Self, TrainError> {
        let parts = function.parts;
        let rows = run.unfitted_rows(COMPARED_ROWS, unlabelled)?;
        let codes = rows.inputs();
        let mut far = Array2::zeros((codes.len(), parts.intercepts.len()));
        let blocks = codes.len().div_ceil(BLOCK_ROWS).max(1);
        for (index, codes) in codes.chunks(BLOCK_ROWS).enumerate() {
            let intercepts = ArrayView1::from(parts.intercepts).insert_axis(Axis(0));
            let predicted = exact.predict(parts.inputs.prepare(codes.iter().copied()).view()) + intercepts;
            let first = index * BLOCK_ROWS;
            far.slice_mut(s![first..first + codes.len(), ..]).assign(&predicted);
            run.tick(Stage::Certify, 0.9 + 0.1 * (index + 1) as f64 / blocks as f64)?;
        }
        let bars = match (parts.error_bars, coding) {
            (Some(_), TargetCoding::Numbers { .. }) => {
                let fitted = run.fitted_rows(BAR_ROWS)?;
                let of = |codes: &[&[f64]]| function.error_bars(codes).unwrap_or_default();
                let squares = of(&fitted.inputs()).mapv(|bar| bar * bar).mean_axis(Axis(0));
                squares.map(|squares| (of(&codes), squares.to_vec()))
            }
            (None, _) | (Some(_), TargetCoding::Classes { .. }) => None,
        };
        let exact_score = score(&far, &rows.targets()?, rows.counts[0], coding);
        Ok(Self { near: function.predict(&codes), far, bars, counts: rows.counts, ranges, exact_score })
    }

    pub(super) fn row_count(&self) -> usize {
        self.near.nrows()
    }

    /// The mean squared difference over the validation rows, where the error of the model is measured too, or over the
    /// other rows if there are none; summed over the targets.
    pub(super) fn error(&self) -> Option<f64> {
        let rows = if self.counts[0] > 0 { self.counts[0] } else { self.row_count() };
        let gaps = &self.near.slice(s![..rows, ..]) - &self.far.slice(s![..rows, ..]);
        (rows > 0).then(|| gaps.iter().map(|gap| gap * gap).sum::<f64>() / rows as f64)
    }

    /// What the certificates read: differences as they are, in units of the error bars, and squared after clipping to the
    /// ranges of the training targets; of several targets the Euclidean norm, and the largest ratio.
    pub(super) fn certificate(&self, solver_slack: f64) -> CertificateEvidence {
        let Self { near, far, ranges, .. } = self;
        let square = |row: usize, clip: &dyn Fn(f64, (f64, f64)) -> f64| -> f64 {
            let pairs = near.row(row).into_iter().zip(far.row(row)).zip(ranges);
            pairs.map(|((near, far), range)| (clip(*near, *range) - clip(*far, *range)).powi(2)).sum()
        };
        let rows = 0..self.row_count();
        let differences = ascending(rows.clone().map(|row| square(row, &|value, _| value).sqrt()));
        let mut order: Vec<usize> = rows.collect();
        order.sort_by_key(|row| (scattered(*row), *row));
        let clipped_squares: Vec<f64> =
            order.into_iter().map(|row| square(row, &|value, (low, high)| value.clamp(low, high))).collect();
        let count = clipped_squares.len() as f64;
        let mean = clipped_squares.iter().sum::<f64>() / count;
        let spread: f64 = clipped_squares.iter().map(|square| (square - mean).powi(2)).sum();
        let [validation_rows, calibration_rows, unlabelled_rows] = self.counts;
        CertificateEvidence {
            differences,
            clipped_mean_square: mean,
            clipped_square_variance: spread / (count - 1.0),
            clip_width: ranges.iter().map(|(low, high)| (high - low).powi(2)).sum::<f64>().sqrt(),
            solver_slack,
            detail: Some(CertificateDetail {
                clipped_squares,
                scaled: self.scaled(),
                validation_rows,
                calibration_rows,
                unlabelled_rows,
            }),
        }
    }

    /// None where an error bar or a mean of them is zero or not a number.
    fn scaled(&self) -> Option<ScaledDifferences> {
        let (bars, mean_squares) = self.bars.as_ref()?;
        let ratio = |row: usize| {
            let pairs = self.near.row(row).into_iter().zip(self.far.row(row));
            let scales = bars.row(row).into_iter().zip(mean_squares).map(|(bar, mean)| scale(*bar, *mean));
            pairs.zip(scales).map(|((near, far), scale)| (near - far).abs() / scale).fold(0.0, f64::max)
        };
        let usable = mean_squares.iter().all(|square| *square > 0.0 && square.is_finite());
        let ratios = ascending((0..self.row_count()).map(ratio));
        let finite = bars.iter().all(|bar| bar.is_finite()) && ratios.iter().all(|ratio| ratio.is_finite());
        (usable && finite).then(|| ScaledDifferences { ratios, mean_squares: mean_squares.clone() })
    }
}

/// How good predictions are on the first `count` rows; none without rows.
fn score(predicted: &Array2<f64>, cells: &Array2<f64>, count: usize, coding: &TargetCoding) -> Option<ExactScore> {
    let rows = predicted.rows().into_iter().zip(cells.rows()).take(count);
    let mean = |sum: f64| sum / count as f64;
    (count > 0).then(|| match coding {
        TargetCoding::Numbers { .. } => {
            let squares = |(values, cells): (ArrayView1<f64>, ArrayView1<f64>)| {
                values.iter().zip(cells).map(|(value, cell)| (value - cell).powi(2)).sum::<f64>()
            };
            ExactScore::Mse(mean(rows.map(squares).sum()) / predicted.ncols() as f64)
        }
        TargetCoding::Classes { .. } => {
            let right = |(values, cells): &(ArrayView1<f64>, ArrayView1<f64>)| {
                largest_value(&values.to_vec()) == cells[0] as usize
            };
            ExactScore::Accuracy(mean(rows.filter(right).count() as f64))
        }
    })
}

fn ascending(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// A key that has nothing to do with what lies in a row: tables are often sorted, and the betting bound is better the
/// less the order tells.
fn scattered(row: usize) -> u64 {
    (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Two targets in [0, 2] and [0, 1]: differences (3, 4) and (0, 1), clipped (2, 1) and (0, 1).
    #[test]
    fn differences_of_several_targets_are_euclidean_and_ratios_the_largest() {
        let distances = Distances {
            near: array![[3.0, 4.0], [1.0, 1.0]],
            far: array![[0.0, 0.0], [1.0, 0.0]],
            // H = h² + 0.3·mean: 1 + 3, 22 + 3, 6 + 3, 1 + 3.
            bars: Some((array![[1.0, 22.0_f64.sqrt()], [6.0_f64.sqrt(), 1.0]], vec![10.0, 10.0])),
            counts: [1, 1, 0],
            ranges: vec![(0.0, 2.0), (0.0, 1.0)],
            exact_score: None,
        };
        let found = distances.certificate(0.5);
        assert_eq!(found.differences, [1.0, 5.0]);
        assert_eq!((found.clipped_mean_square, found.clipped_square_variance), (3.0, 8.0));
        assert_eq!((found.clip_width, found.solver_slack), (5.0_f64.sqrt(), 0.5));
        let detail = found.detail.unwrap();
        let mut squares = detail.clipped_squares.clone();
        squares.sort_by(f64::total_cmp);
        assert_eq!((squares, detail.calibration_rows), (vec![1.0, 5.0], 1));
        let ratios = detail.scaled.unwrap().ratios;
        assert!((ratios[0] - 0.5).abs() < 1e-15 && (ratios[1] - 1.5).abs() < 1e-15, "{ratios:?}");
        assert_eq!(distances.error(), Some(25.0), "the first row is the validation row");
        let flat = Distances { bars: Some((Array2::zeros((2, 2)), vec![0.0, 0.0])), ..distances };
        assert_eq!(flat.certificate(0.5).detail.unwrap().scaled, None);
    }

    /// Two targets, errors (1, 2) and (0, 1): (1 + 4 + 0 + 1)/4. Three classes, one of two right. The last row is not a
    /// validation row.
    #[test]
    fn the_exact_method_is_scored_on_validation_rows() {
        let numbers = TargetCoding::Numbers { shift: vec![0.0; 2], unit: vec![1.0; 2] };
        let predicted = array![[1.0, 2.0], [3.0, 1.0], [9.0, 9.0]];
        let cells = array![[0.0, 0.0], [3.0, 0.0], [0.0, 0.0]];
        assert_eq!(score(&predicted, &cells, 2, &numbers), Some(ExactScore::Mse(1.5)));
        assert_eq!(score(&predicted, &cells, 0, &numbers), None);
        let values = array![[0.1, 0.7, 0.2], [0.5, 0.1, 0.4], [0.0, 0.0, 1.0]];
        let found = score(&values, &array![[1.0], [2.0], [2.0]], 2, &TargetCoding::Classes { count: 3 });
        assert_eq!(found, Some(ExactScore::Accuracy(0.5)));
        let of_two = score(&array![[0.3], [-0.2]], &array![[1.0], [0.0]], 2, &TargetCoding::Classes { count: 2 });
        assert_eq!(of_two, Some(ExactScore::Accuracy(1.0)));
    }
}
