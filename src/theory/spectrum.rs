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
    /// μᵢ of the order e^(−ri); r is the exponent.
    Exponential(ExponentFit),
    /// μᵢ of the order i^(−c); c is the exponent.
    Polynomial(ExponentFit),
}

/// Below this share of the largest an eigenvalue counts as zero.
const NEGLIGIBLE: f64 = 1e-12;
/// Up to this share of non-vanishing eigenvalues the rank counts as finite.
const LARGEST_RANK_SHARE: f64 = 0.1;

/// The kind of decay that fits best: few enough eigenvalues, or the straighter of log μ against i and
/// log μ against log i. None below three eigenvalues.
pub fn decay(eigenvalues: &[f64]) -> Option<Decay> {
    let largest = *eigenvalues.first()?;
    let rank = eigenvalues.iter().take_while(|value| **value > NEGLIGIBLE * largest).count();
    if eigenvalues.len() < 3 {
        return None;
    }
    let points: Vec<(f64, f64)> =
        eigenvalues[..rank].iter().enumerate().map(|(index, value)| ((index + 1) as f64, value.ln())).collect();
    let logs: Vec<(f64, f64)> = points.iter().map(|(i, log)| (i.ln(), *log)).collect();
    match (line(&points), line(&logs)) {
        (Some(exponential), Some(polynomial)) if rank as f64 > LARGEST_RANK_SHARE * eigenvalues.len() as f64 => {
            Some(if exponential.quality >= polynomial.quality {
                Decay::Exponential(exponential)
            } else {
                Decay::Polynomial(polynomial)
            })
        }
        _ => Some(Decay::FiniteRank(rank)),
    }
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
        let Some(Decay::Polynomial(fit)) = decay(&power) else { panic!("{:?}", decay(&power)) };
        assert!((fit.exponent - 1.5).abs() < 1e-10 && fit.quality > 1.0 - 1e-12);
        let geometric: Vec<f64> = (1..40).map(|i| (-0.5 * f64::from(i)).exp()).collect();
        let Some(Decay::Exponential(fit)) = decay(&geometric) else { panic!("{:?}", decay(&geometric)) };
        assert!((fit.exponent - 0.5).abs() < 1e-10);
        let mut few = vec![0.0; 100];
        few[..4].copy_from_slice(&[1.0, 0.5, 0.3, 0.1]);
        assert_eq!(decay(&few), Some(Decay::FiniteRank(4)));
        assert_eq!(decay(&[1.0, 0.5]), None);
    }
}
