//! Centring and scaling of encoded inputs, fitted on the training rows.

use serde::Serialize;

/// How inputs are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScalingRule {
    /// Mean 0, variance 1.
    Standard,
    /// Onto [−1, 1].
    Minmax,
    /// Onto [0, 1].
    Unit,
    /// As they are.
    None,
}

/// Running moments of one input over the training rows; missing cells are counted apart.
#[derive(Debug, Clone, Copy)]
pub struct ColumnMoments {
    pub(super) count: f64,
    pub(super) missing: u64,
    pub(super) mean: f64,
    /// Σ(x − mean)².
    pub(super) squares: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl ColumnMoments {
    /// Before the first value.
    pub const EMPTY: Self =
        Self { count: 0.0, missing: 0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    /// Adds one value; NaN is a missing cell.
    pub fn observe(&mut self, value: f64) {
        if value.is_nan() {
            self.missing += 1;
            return;
        }
        self.count += 1.0;
        let step = value - self.mean;
        self.mean += step / self.count;
        self.squares += step * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds the values of another. [Chan, Golub & LeVeque 1979]
    pub fn merge(&mut self, other: &Self) {
        self.missing += other.missing;
        if other.count == 0.0 {
            return;
        }
        let count = self.count + other.count;
        let step = other.mean - self.mean;
        self.mean += step * other.count / count;
        self.squares += other.squares + step * step * self.count * other.count / count;
        self.count = count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of values that are not missing.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Number of missing cells.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Mean of the values that are not missing.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The smallest and the largest value; none if every cell is missing.
    pub fn range(&self) -> Option<(f64, f64)> {
        (self.count > 0.0).then_some((self.min, self.max))
    }

    /// Variance with missing cells at the mean, which is how they will be filled in.
    pub fn variance(&self) -> f64 {
        let rows = self.count + self.missing as f64;
        if rows > 0.0 { self.squares / rows } else { 0.0 }
    }

    /// Whether all values are equal, or so close that their squared differences underflow.
    pub fn is_constant(&self) -> bool {
        self.count == 0.0 || self.max <= self.min || self.squares == 0.0
    }
}

/// x ↦ (x − offset)·factor per input, with missing cells filled by the training mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Replaces missing cells.
    pub fill: Vec<f64>,
    /// Subtracted from the input.
    pub offset: Vec<f64>,
    /// Multiplied. Zero for constant inputs, so that they have no effect.
    pub factor: Vec<f64>,
}

impl Scaling {
    /// The scaling that `rule` gives on inputs with these moments.
    pub fn fit(rule: ScalingRule, moments: &[ColumnMoments]) -> Self {
        let offset = |m: &ColumnMoments| match rule {
            ScalingRule::Standard => m.mean,
            ScalingRule::Minmax | ScalingRule::Unit if m.is_constant() => m.mean,
            ScalingRule::Unit => m.min,
            ScalingRule::Minmax => m.min / 2.0 + m.max / 2.0,
            ScalingRule::None => 0.0,
        };
        let factor = |m: &ColumnMoments| match rule {
            ScalingRule::None => 1.0,
            _ if m.is_constant() => 0.0,
            ScalingRule::Standard => 1.0 / m.variance().sqrt(),
            ScalingRule::Minmax => 2.0 / (m.max - m.min),
            ScalingRule::Unit => 1.0 / (m.max - m.min),
        };
        Self {
            fill: moments.iter().map(|m| m.mean).collect(),
            offset: moments.iter().map(offset).collect(),
            factor: moments.iter().map(factor).collect(),
        }
    }

    /// Variance of each scaled input over the training rows.
    pub fn scaled_variances(&self, moments: &[ColumnMoments]) -> Vec<f64> {
        // An infinite variance is passed on: a factor of zero must not hide it.
        let scaled = |(factor, m): (&f64, &ColumnMoments)| match m.variance() {
            variance if variance.is_finite() => factor * factor * variance,
            overflow => overflow,
        };
        self.factor.iter().zip(moments).map(scaled).collect()
    }

    /// Largest |scaled input| over the training rows.
    pub fn largest_scaled(&self, moments: &[ColumnMoments]) -> f64 {
        let reach = |m: &ColumnMoments, offset: f64| {
            if m.count > 0.0 { (m.min - offset).abs().max((m.max - offset).abs()) } else { 0.0 }
        };
        let scaled =
            moments.iter().zip(&self.offset).zip(&self.factor).map(|((m, offset), factor)| factor * reach(m, *offset));
        scaled.fold(0.0, f64::max)
    }

    /// Number of constant inputs.
    pub fn constant_count(&self) -> usize {
        self.factor.iter().filter(|factor| **factor == 0.0).count()
    }

    /// Fills missing cells and scales one row in place.
    pub fn apply(&self, inputs: &mut [f64]) {
        for (((value, fill), offset), factor) in inputs.iter_mut().zip(&self.fill).zip(&self.offset).zip(&self.factor) {
            let known = if value.is_nan() { *fill } else { *value };
            *value = (known - offset) * factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: &[f64]) -> [ColumnMoments; 1] {
        let mut moments = ColumnMoments::EMPTY;
        for &value in values {
            moments.observe(value);
        }
        [moments]
    }

    fn scaled(rule: ScalingRule, values: &[f64]) -> Vec<f64> {
        let scaling = Scaling::fit(rule, &moments(values));
        let scale = |&value: &f64| {
            let mut row = [value];
            scaling.apply(&mut row);
            row[0]
        };
        values.iter().map(scale).collect()
    }

    #[test]
    fn merged_moments_are_those_of_all_values() {
        let values = [1e9 + 1.0, f64::NAN, 1e9 + 4.0, 1e9 - 2.0, 1e9 + 7.5, f64::NAN, 1e9];
        let of = |values: &[f64]| {
            let mut moments = ColumnMoments::EMPTY;
            for value in values {
                moments.observe(*value);
            }
            moments
        };
        let whole = of(&values);
        for cut in 0..=values.len() {
            let mut merged = of(&values[..cut]);
            merged.merge(&of(&values[cut..]));
            assert!((merged.mean() - whole.mean()).abs() < 1e-6 && merged.missing() == 2);
            assert!((merged.variance() / whole.variance() - 1.0).abs() < 1e-6, "{cut}");
            assert_eq!((merged.min, merged.max), (whole.min, whole.max));
        }
    }

    #[test]
    fn rules_by_hand() {
        assert_eq!(scaled(ScalingRule::Standard, &[1.0, 3.0]), [-1.0, 1.0]);
        assert_eq!(scaled(ScalingRule::Minmax, &[0.0, 1.0, 4.0]), [-1.0, -0.5, 1.0]);
        assert_eq!(scaled(ScalingRule::Unit, &[2.0, 3.0, 6.0]), [0.0, 0.25, 1.0]);
        assert_eq!(scaled(ScalingRule::None, &[0.0, 7.0]), [0.0, 7.0]);
    }

    #[test]
    fn a_constant_input_has_no_effect() {
        assert_eq!(scaled(ScalingRule::Standard, &[1e12, 1e12]), [0.0, 0.0]);
        assert_eq!(scaled(ScalingRule::Minmax, &[5.0, 5.0]), [0.0, 0.0]);
    }

    #[test]
    fn missing_cells_become_the_mean_and_the_variance_counts_them() {
        let values = [1.0, f64::NAN, 3.0, f64::NAN];
        let result = scaled(ScalingRule::Standard, &values);
        assert!(result[1].abs() < 1e-15 && result[3].abs() < 1e-15);
        let scaling = Scaling::fit(ScalingRule::Standard, &moments(&values));
        assert!((scaling.scaled_variances(&moments(&values))[0] - 1.0).abs() < 1e-15);
        assert!((result.iter().map(|value| value * value).sum::<f64>() / 4.0 - 1.0).abs() < 1e-15);
    }
}
