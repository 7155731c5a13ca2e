//! Effective dimension and decay of eigenvalues, with the quality of each fit.

use serde::Serialize;

/// N(λ) = Σ μ/(μ+λ).
pub fn effective_dimension(eigenvalues: &[f64], ridge: f64) -> f64 {
    eigenvalues.iter().map(|value| value / (value + ridge)).sum()
}

/// An exponent fitted by a straight line, with the quality of the fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ExponentFit {
    /// Minus the slope of the line.
    pub exponent: f64,
    /// R² of the line: 1 if it goes through every point.
    #[serde(rename = "r_squared")]
    pub quality: f64,
    /// Root mean square residual of the logarithms: 0.01 is about one percent.
    pub residual: f64,
}

/// −d log y / d log x by least squares over the points with positive coordinates; none if there are fewer than three.
pub fn decay_exponent(points: &[(f64, f64)]) -> Option<ExponentFit> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    line(&logs)
}

/// −slope of the least-squares line; none for fewer than three points or a single abscissa.
fn line(points: &[(f64, f64)]) -> Option<ExponentFit> {
    if points.len() < 3 {
        return None;
    }
    let n = points.len() as f64;
    let (mean_x, mean_y) =
        (points.iter().map(|(x, _)| x).sum::<f64>() / n, points.iter().map(|(_, y)| y).sum::<f64>() / n);
    let moment = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| of(x - mean_x, y - mean_y)).sum::<f64>();
    let (xx, xy, yy) = (moment(&|x, _| x * x), moment(&|x, y| x * y), moment(&|_, y| y * y));
    if xx == 0.0 {
        return None;
    }
    let quality = if yy == 0.0 { 1.0 } else { xy * xy / (xx * yy) };
    let slope = xy / xx;
    let residual = (moment(&|x, y| (y - slope * x).powi(2)) / n).sqrt();
    Some(ExponentFit { exponent: -slope, quality, residual })
}

/// γ̂: N(λ) of the order λ^(−γ), from the slope of log N̂ on log λ. [R, §2]
pub fn capacity_exponent(eigenvalues: &[f64], ridges: &[f64]) -> Option<ExponentFit> {
    let points: Vec<(f64, f64)> =
        ridges.iter().map(|&ridge| (ridge, effective_dimension(eigenvalues, ridge))).collect();
    decay_exponent(&points)
}

/// λ·10^(k/4) for k from −4 to 4: a decade to each side, the range for the slope at λ.
pub fn ridges_around(ridge: f64) -> Vec<f64> {
    (-4..=4).map(|k| ridge * 10_f64.powf(f64::from(k) / 4.0)).collect()
}

/// The kind of decay of eigenvalues.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decay {
    /// All but this many are zero.
    FiniteRank(usize),
    /// μᵢ of the order e^(−ri), where r is the exponent, or e^(−r√i), which is closer for smooth kernels of several inputs.
    Exponential(ExponentFit),
    /// μᵢ of the order i^(−c), where c is the exponent.
    Polynomial(ExponentFit),
}

/// Random features estimate only the leading part of a kernel's spectrum; beyond it, G decays because there are too few
/// features. Measured on gaussian, laplace and matern kernels: this share of the eigenvalues, and at least this many,
/// distinguish the kernels.
const LEADING_SHARE: f64 = 0.05;
const LEADING_COUNT: usize = 25;

/// A missing eigenvalue counts as a gap if it was expected to exceed the floor by this factor.
const GAP: f64 = 10.0;

/// The kind of decay of the eigenvalues above `floor` times the largest; those below may be rounding errors. A rank if
/// they end at a gap, otherwise the better fit of log μ against i or √i and of log μ against log i. None if fewer than
/// three are above the floor and there is no gap.
pub fn decay(eigenvalues: &[f64], floor: f64, sample_count: usize) -> Option<Decay> {
    let zero = floor * *eigenvalues.first()?;
    let above: Vec<f64> = eigenvalues.iter().take_while(|value| **value > zero).copied().collect();
    let rank = above.len();
    // A rank above half the features or half the rows may be a limit of the sample, not of the kernel.
    if 2 * rank <= eigenvalues.len().min(sample_count) && ends_at_a_gap(&above, zero) {
        return Some(Decay::FiniteRank(rank));
    }
    let leading = ((LEADING_SHARE * eigenvalues.len() as f64) as usize).max(LEADING_COUNT);
    let points: Vec<(f64, f64)> =
        above.iter().take(leading).enumerate().map(|(index, value)| ((index + 1) as f64, value.ln())).collect();
    let against = |of: fn(f64) -> f64| line(&points.iter().map(|(i, log)| (of(*i), *log)).collect::<Vec<_>>());
    let (exponential, stretched, polynomial) = (line(&points)?, against(f64::sqrt)?, against(f64::ln)?);
    Some(if exponential.quality.max(stretched.quality) >= polynomial.quality {
        Decay::Exponential(exponential)
    } else {
        Decay::Polynomial(polynomial)
    })
}

/// Whether another eigenvalue would still be well above zero after a step as steep as the steepest so far.
fn ends_at_a_gap(above: &[f64], zero: f64) -> bool {
    let steepest = above.windows(2).map(|pair| pair[1] / pair[0]).fold(1.0, f64::min);
    above.last().is_none_or(|last| last * steepest > GAP * zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_dimension_by_hand() {
        assert_eq!(effective_dimension(&[1.0, 1.0, 0.0], 1.0), 1.0);
        assert!(effective_dimension(&[1.0, 0.5], 0.1) > effective_dimension(&[1.0, 0.5], 0.2));
    }

    /// μᵢ = i^(−2) gives N(λ) of the order λ^(−½).
    #[test]
    fn the_capacity_exponent_of_a_power_law() {
        let eigenvalues: Vec<f64> = (1..20_000).map(|i| f64::from(i).powi(-2)).collect();
        let fit = capacity_exponent(&eigenvalues, &ridges_around(1e-4)).unwrap();
        assert!((fit.exponent - 0.5).abs() < 0.02, "{fit:?}");
        assert!(fit.quality > 0.999);
        assert_eq!(capacity_exponent(&eigenvalues, &[0.1, 0.1, 0.1]), None);
    }

    /// Points (0, 0), (1, 3), (2, 0): slope 0, mean 1, residuals −1, 2, −1.
    #[test]
    fn the_residual_of_the_line_by_hand() {
        let fit = line(&[(0.0, 0.0), (1.0, 3.0), (2.0, 0.0)]).unwrap();
        assert_eq!((fit.exponent.abs(), fit.quality), (0.0, 0.0));
        assert!((fit.residual - 2.0_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn the_kinds_of_decay_are_distinguished() {
        let power: Vec<f64> = (1..100).map(|i| f64::from(i).powf(-1.5)).collect();
        for floor in [1e-6, 1e-13] {
            let decay = |eigenvalues: &[f64]| decay(eigenvalues, floor, 1_000);
            let Some(Decay::Polynomial(fit)) = decay(&power) else { panic!("{:?}", decay(&power)) };
            assert!((fit.exponent - 1.5).abs() < 1e-10 && fit.quality > 1.0 - 1e-12);
            for rate in [0.1, 0.5, 2.0, 4.0] {
                // Below the floor there is only rounding noise.
                let noise = |i: i32| 1e-2 * floor / f64::from(i);
                let geometric: Vec<f64> = (1..200).map(|i| (-rate * f64::from(i - 1)).exp() + noise(i)).collect();
                let Some(Decay::Exponential(fit)) = decay(&geometric) else { panic!("{rate} {:?}", decay(&geometric)) };
                assert!((fit.exponent / rate - 1.0).abs() < 1e-2, "{fit:?}");
            }
            let mut few: Vec<f64> = (1..=100).map(|i| 1e-2 * floor / f64::from(i)).collect();
            few[..4].copy_from_slice(&[1.0, 0.5, 0.3, 0.1]);
            assert_eq!(decay(&few), Some(Decay::FiniteRank(4)));
            few[1..4].fill(0.0);
            assert_eq!(decay(&few), Some(Decay::FiniteRank(1)));
            assert_eq!(decay(&[1.0, 0.5]), None);
            // Two that decay steeply, then rounding errors: the decay is unknown.
            assert_eq!(decay(&[1.0, 10.0 * floor, 0.1 * floor, 0.0, 0.0]), None);
            assert_eq!(decay(&[]), None);
        }
        // As many nonzero eigenvalues as rows do not show a rank of the kernel.
        let flat = [vec![1.0; 40], vec![0.0; 472]].concat();
        assert!(!matches!(decay(&flat, 1e-6, 40), Some(Decay::FiniteRank(_))));
        assert_eq!(decay(&flat, 1e-6, 1_000), Some(Decay::FiniteRank(40)));
    }
}
