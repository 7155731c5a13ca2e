//! Special functions, built on libm so that they have the same bits on every platform.

use libm::{cosh, exp, lgamma, log, pow};
use std::f64::consts::{LN_2, PI};

/// ρ_ν(z) = 2^{1−ν}/Γ(ν) · z^ν K_ν(z), the Matérn correlation at z = √(2ν)·r/ℓ; ρ_ν(0) = 1.
pub(crate) fn matern_correlation(nu: f64, z: f64) -> f64 {
    if z < 1e-15 {
        return 1.0;
    }
    if !z.is_finite() {
        return exp(-z); // 0 at infinity, where the sum below would not end early
    }
    if nu == 0.5 {
        return exp(-z);
    }
    if nu == 1.5 {
        return (1.0 + z) * exp(-z);
    }
    if nu == 2.5 {
        return (1.0 + z + z * z / 3.0) * exp(-z);
    }
    // K_ν(z) = ∫₀^∞ exp(−z cosh t) cosh(νt) dt. The integrand is analytic and falls off doubly
    // exponentially, so the trapezoidal rule converges faster than any power of its step.
    // Its peak is as narrow as (ν² + z²)^(−1/4).
    let step = f64::min(0.1, 0.5 / (nu * nu + z * z).sqrt().sqrt());
    let scale = (1.0 - nu) * LN_2 - lgamma(nu) + nu * log(z);
    let mut sum = 0.0;
    for k in 0..100_000_u32 {
        let t = f64::from(k) * step;
        let exponent = nu * t - z * cosh(t) + scale;
        let term = exp(exponent) * 0.5 * (1.0 + exp(-2.0 * nu * t));
        sum += if k == 0 { 0.5 * term } else { term };
        let past_peak = z * cosh(t) > nu;
        if past_peak && term <= 1e-18 * sum {
            break;
        }
    }
    sum * step
}

/// Regularised lower incomplete gamma function P(a, x).
fn gamma_cdf(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    if x <= 0.0 {
        return 0.0;
    }
    let front = exp(a * log(x) - x - lgamma(a));
    if x < a + 1.0 {
        // Σ x^k / (a(a+1)…(a+k))
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for k in 1..10_000 {
            term *= x / (a + f64::from(k));
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        return front * sum;
    }
    // The continued fraction of Q = 1 − P, evaluated forwards. [Lentz 1976]
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / TINY, 1.0 / b);
    let mut fraction = d;
    for k in 1..10_000 {
        let k = f64::from(k);
        let numerator = -k * (k - a);
        b += 2.0;
        d = 1.0 / nonzero(numerator * d + b, TINY);
        c = nonzero(b + numerator / c, TINY);
        let factor = c * d;
        fraction *= factor;
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    1.0 - front * fraction
}

fn nonzero(value: f64, tiny: f64) -> f64 {
    if value.abs() < tiny { tiny } else { value }
}

/// The x with P(a, x) = p, for 0 < p < 1: the quantile of a gamma distribution of shape a.
pub(crate) fn gamma_quantile(a: f64, p: f64) -> f64 {
    let mut x = if a > 1.0 {
        // Wilson and Hilferty 1931: the cube root is nearly normal.
        let z = crate::random::normal_quantile(p);
        let root = 1.0 - 1.0 / (9.0 * a) + z / (3.0 * a.sqrt());
        f64::max(1e-3, a * root * root * root)
    } else {
        // P(a, x) ≈ x^a/Γ(a+1) near zero.
        pow(p, 1.0 / a) * exp(lgamma(a + 1.0) / a)
    };
    for _ in 0..100 {
        if x <= 0.0 {
            return 0.0;
        }
        let density = exp((a - 1.0) * log(x) - x - lgamma(a));
        let newton = (gamma_cdf(a, x) - p) / density;
        // Halley's correction, damped so that it never turns the step around.
        let step = newton / (1.0 - 0.5 * f64::min(1.0, newton * ((a - 1.0) / x - 1.0)));
        let next = if x - step <= 0.0 { 0.5 * x } else { x - step };
        let done = (next - x).abs() <= 1e-15 * x;
        x = next;
        if done {
            break;
        }
    }
    x
}

/// ζ(n) for whole n ≠ 1.
pub(crate) fn zeta(n: i32) -> f64 {
    /// From here on the first term left out is below 1e-17.
    const N: i32 = 20;
    if n < 0 {
        // ζ(−k) = 2 (2π)^{−k−1} sin(−πk/2) k! ζ(k+1)
        let k = -n;
        let sine = [0.0, -1.0, 0.0, 1.0][(k % 4) as usize];
        return 2.0 * pow(2.0 * PI, f64::from(n - 1)) * sine * exp(lgamma(f64::from(k) + 1.0)) * zeta(k + 1);
    }
    if n == 0 {
        return -0.5;
    }
    // Euler–Maclaurin from N on.
    let s = f64::from(n);
    let big = f64::from(N);
    let head: f64 = (1..N).map(|k| pow(f64::from(k), -s)).sum();
    let mut tail = pow(big, 1.0 - s) / (s - 1.0) + 0.5 * pow(big, -s);
    // B₂ⱼ/(2j)! · s(s+1)…(s+2j−2) · N^{−s−2j+1}
    let bernoulli = [1.0 / 12.0, -1.0 / 720.0, 1.0 / 30_240.0, -1.0 / 1_209_600.0, 1.0 / 47_900_160.0];
    let mut rising = s * pow(big, -s - 1.0);
    for (j, coefficient) in bernoulli.into_iter().enumerate() {
        tail += coefficient * rising;
        let next = s + 2.0 * j as f64;
        rising *= (next + 1.0) * (next + 2.0) / (big * big);
    }
    head + tail
}

/// Σ_{k≥1} cos(2πkt)/k^q for whole q ≥ 1: the real part of the polylogarithm on the unit circle.
///
/// With θ = 2πt in [0, π], Li_q(e^{iθ}) = Σ_{k≠q−1} ζ(q−k)(iθ)^k/k! + (iθ)^{q−1}/(q−1)!·(H_{q−1} − ln θ +
/// iπ/2), of which only even powers of i are real. For even q all but the first q/2 + 1 zeta values
/// vanish and the sum is a polynomial; for odd q its terms fall by 4 each.
#[derive(Debug, Clone)]
pub struct CosineSeries {
    /// q; for 1 the sum is −ln(2 sin(θ/2)) and the rest is not used.
    pub q: i32,
    /// Of θ⁰, θ², θ⁴ …
    pub even: Vec<f64>,
    /// Of θ^{q−1}: without the logarithm for even q, of (H − ln θ) for odd q.
    pub special: f64,
    /// H_{q−1}.
    pub harmonic: f64,
}

impl CosineSeries {
    /// The coefficients for q.
    pub fn new(q: u32) -> Self {
        const ODD_TERMS: i32 = 30;
        let q = q.cast_signed();
        let factorial = |k: i32| exp(lgamma(f64::from(k) + 1.0));
        let sign = |half: i32| if half % 2 == 0 { 1.0 } else { -1.0 };
        let last = if q % 2 == 0 { q / 2 } else { q / 2 + ODD_TERMS };
        let coefficient = |half: i32| {
            let k = 2 * half;
            if k == q - 1 { 0.0 } else { sign(half) * zeta(q - k) / factorial(k) }
        };
        let special = if q % 2 == 0 { sign(q / 2) * PI / 2.0 } else { sign((q - 1) / 2) } / factorial(q - 1);
        Self {
            q,
            even: if q == 1 { Vec::new() } else { (0..=last).map(coefficient).collect() },
            special,
            harmonic: (1..q).map(|i| 1.0 / f64::from(i)).sum(),
        }
    }

    pub(crate) fn evaluate(&self, t: f64) -> f64 {
        let theta = 2.0 * PI * (t - t.round()).abs(); // in [0, π]
        if self.q == 1 {
            return -log(2.0 * libm::sin(theta / 2.0));
        }
        let polynomial = self.even.iter().rev().fold(0.0, |sum, c| sum * theta * theta + c);
        let power = theta.powi(self.q - 1);
        let special = match self.q % 2 {
            0 => power,
            _ if theta == 0.0 => 0.0,
            _ => power * (self.harmonic - log(theta)),
        };
        polynomial + self.special * special
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_at_known_points() {
        for (n, expected) in [
            (2, PI * PI / 6.0),
            (4, PI.powi(4) / 90.0),
            (3, 1.202_056_903_159_594_2),
            (0, -0.5),
            (-1, -1.0 / 12.0),
            (-2, 0.0),
            (-3, 1.0 / 120.0),
            (-7, 1.0 / 240.0),
        ] {
            assert!((zeta(n) - expected).abs() < 1e-15, "zeta({n}) = {}", zeta(n));
        }
    }

    /// Against the closed form at ν = p + ½: e^{−z} p!/(2p)! Σ (p+i)!/(i!(p−i)!) (2z)^{p−i}.
    #[test]
    fn matern_is_the_polynomial_at_half_integers() {
        let log_factorial = |n: u32| lgamma(f64::from(n) + 1.0);
        for p in [3_u32, 30, 60, 99] {
            for z in [0.1_f64, 3.0, 20.0, 120.0] {
                let term = |i: u32| {
                    let ways = log_factorial(p + i) - log_factorial(i) - log_factorial(p - i);
                    exp(ways + f64::from(p - i) * (2.0 * z).ln() + log_factorial(p) - log_factorial(2 * p) - z)
                };
                let expected: f64 = (0..=p).map(term).sum();
                let found = matern_correlation(f64::from(p) + 0.5, z);
                assert!((found / expected - 1.0).abs() < 2e-12, "p = {p}, z = {z}: {found} is not {expected}");
            }
        }
    }

    /// Against the sum itself, whose tail after K terms is at most K^{1−q}/(q−1).
    #[test]
    fn the_series_is_what_it_says() {
        for q in [2_u32, 3, 4, 5, 8] {
            for t in [0.0, 0.1, 0.25, 0.5, 0.73, -1.4] {
                let terms = 200_000_u32;
                let direct: f64 = (1..=terms)
                    .rev()
                    .map(|k| (2.0 * PI * f64::from(k) * t).cos() / f64::from(k).powi(q.cast_signed()))
                    .sum();
                let tail = f64::from(terms).powi(1 - q.cast_signed());
                let found = CosineSeries::new(q).evaluate(t);
                assert!((found - direct).abs() < tail + 1e-13, "q = {q}, t = {t}: {found} {direct}");
            }
        }
    }

    /// χ² quantiles of standard tables: 2·gamma_quantile(k/2, p).
    #[test]
    fn gamma_quantiles_match_chi_squared_tables() {
        for (degrees, p, expected) in [
            (1.0, 0.95, 3.841_458_820_694_124),
            (2.0, 0.5, 1.386_294_361_119_890_6),
            (10.0, 0.99, 23.209_251_158_954_356),
            (3.0, 0.001, 0.024_297_585_815_692_86),
        ] {
            let found = 2.0 * gamma_quantile(degrees / 2.0, p);
            assert!((found / expected - 1.0).abs() < 1e-12, "{degrees} {p}: {found}");
        }
        for a in [0.05, 0.5, 1.0, 3.3, 80.0] {
            for p in [1e-6, 0.01, 0.3, 0.9, 0.999] {
                assert!((gamma_cdf(a, gamma_quantile(a, p)) - p).abs() < 1e-13, "{a} {p}");
            }
        }
    }

    /// The integral at half-integers, where closed forms exist: nudged off them by 1e-13.
    #[test]
    fn the_matern_integral_meets_its_closed_forms() {
        for nu in [0.5, 1.5, 2.5] {
            for z in [1e-6, 0.1, 1.0, 5.0, 40.0, 300.0] {
                let integral = matern_correlation(nu + 1e-13, z);
                let closed = matern_correlation(nu, z);
                assert!((integral - closed).abs() <= 1e-12 * closed + 1e-300, "{nu} {z}: {integral} {closed}");
            }
        }
    }
}
