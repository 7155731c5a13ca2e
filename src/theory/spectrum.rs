//! What eigenvalues tell: effective dimension, how fast they decay, and how well that is known.

use serde::Serialize;

/// N(λ) = Σ μ/(μ+λ).
pub fn effective_dimension(eigenvalues: &[f64], ridge: f64) -> f64 {
    eigenvalues.iter().map(|value| value / (value + ridge)).sum()
}

/// A power or a rate read off a straight line, and how straight the line is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ExponentFit {
    /// The exponent.
    pub exponent: f64,
    /// R² of the line, 1 when it goes through every point.
    #[serde(rename = "r_squared")]
    pub quality: f64,
    /// Root mean square of what the line leaves of the logarithms: 0.01 is one per cent or so.
    pub residual: f64,
}

/// −d log y / d log x by least squares over points with positive coordinates; none below three.
pub fn decay_exponent(points: &[(f64, f64)]) -> Option<ExponentFit> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    line(&logs)
}

/// −slope of the least-squares line; none for fewer than three points or one abscissa.
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

/// λ·10^(k/4) for k from −4 to 4: a decade to each side, over which the slope at λ is read.
pub fn ridges_around(ridge: f64) -> Vec<f64> {
    (-4..=4).map(|k| ridge * 10_f64.powf(f64::from(k) / 4.0)).collect()
}

/// How eigenvalues decay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decay {
    /// All but this many vanish.
    FiniteRank(usize),
    /// μᵢ of the order e^(−ri), r the exponent, or of e^(−r√i), nearer to what smooth kernels of several inputs have.
    Exponential(ExponentFit),
    /// μᵢ of the order i^(−c); c is the exponent.
    Polynomial(ExponentFit),
}

/// Random features estimate the leading part of a kernel's spectrum; beyond, G falls for want of features, whatever
/// the kernel does. Measured on gaussian, laplace and matern kernels: this share of the eigenvalues, and at least so
/// many, tell the kernels apart.
const LEADING_SHARE: f64 = 0.05;
const LEADING_COUNT: usize = 25;

/// By so much the next eigenvalue must have been expected above the floor for its absence to be a gap.
const GAP: f64 = 10.0;

/// The kind of decay of eigenvalues that stand above `floor` times the largest, below which they may be rounding: a
/// rank where they end at a gap, or the straighter of log μ against i or √i and log μ against log i. None where fewer
/// than three stand above it without a gap.
pub fn decay(eigenvalues: &[f64], floor: f64, sample_count: usize) -> Option<Decay> {
    let zero = floor * *eigenvalues.first()?;
    let above: Vec<f64> = eigenvalues.iter().take_while(|value| **value > zero).copied().collect();
    let rank = above.len();
    // Of half the features or of half the rows every matrix may have fewer.
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

/// Whether even the steepest step so far would have left one more eigenvalue well above zero.
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
    fn what_the_line_leaves_by_hand() {
        let fit = line(&[(0.0, 0.0), (1.0, 3.0), (2.0, 0.0)]).unwrap();
        assert_eq!((fit.exponent.abs(), fit.quality), (0.0, 0.0));
        assert!((fit.residual - 2.0_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn decays_are_told_apart() {
        let power: Vec<f64> = (1..100).map(|i| f64::from(i).powf(-1.5)).collect();
        for floor in [1e-6, 1e-13] {
            let decay = |eigenvalues: &[f64]| decay(eigenvalues, floor, 1_000);
            let Some(Decay::Polynomial(fit)) = decay(&power) else { panic!("{:?}", decay(&power)) };
            assert!((fit.exponent - 1.5).abs() < 1e-10 && fit.quality > 1.0 - 1e-12);
            for rate in [0.1, 0.5, 2.0, 4.0] {
                // What falls below the floor comes out of the arithmetic as noise.
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
            // Two that fall steeply, and then rounding: nothing can be told.
            assert_eq!(decay(&[1.0, 10.0 * floor, 0.1 * floor, 0.0, 0.0]), None);
            assert_eq!(decay(&[]), None);
        }
        // As many as there are rows is no rank of the kernel.
        let flat = [vec![1.0; 40], vec![0.0; 472]].concat();
        assert!(!matches!(decay(&flat, 1e-6, 40), Some(Decay::FiniteRank(_))));
        assert_eq!(decay(&flat, 1e-6, 1_000), Some(Decay::FiniteRank(40)));
    }
}
