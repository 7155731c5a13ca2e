//! R, Figure 3: the spline problem, whose exponents r and γ are known. Excess risk, the λ that minimises it, and the features
//! that come within 5% of the exact method, by the number of rows n.
//!
//! On [0, 1] with uniform inputs the functions 1, √2·cos(2πkx), √2·sin(2πkx) are orthonormal and diagonalise every kernel here,
//! so risks are sums over coefficients, computed and not sampled. The exact method is ridge regression on the first
//! coordinates of the kernel: beyond them its eigenvalues are below 10⁻⁷, and λ is never below 10⁻⁶.

use super::book::{Book, Key};
use super::fits::equations;
use super::statistics::{Mean, chart, means, series, slope_of_repeats, table};
use super::{Findings, ReproduceError, Settings, Study};
use crate::features::{FeatureMap, Kernel, MapKind, Sampling};
use crate::random::{Purpose, Stream};
use crate::solver::{NormalEquations, RidgePath, solve_ridge};
use crate::theory::papers::rudi_rosasco::{Regularity, rate};
use ndarray::{Array1, Array2, Axis, s};
use std::f64::consts::{SQRT_2, TAU};

/// A problem of R: r, γ, the orders of kernel and target. ε of the target's order is 0, so that both are whole numbers.
struct SplineProblem {
    name: &'static str,
    r: f64,
    gamma: f64,
    kernel: u32,
    target: i32,
}

static PROBLEMS: [SplineProblem; 2] = [
    SplineProblem { name: "r=11/16 gamma=1/8", r: 11.0 / 16.0, gamma: 1.0 / 8.0, kernel: 8, target: 6 },
    SplineProblem { name: "r=7/8 gamma=1/4", r: 7.0 / 8.0, gamma: 1.0 / 4.0, kernel: 4, target: 4 },
];
const FULL: [f64; 5] = [1_000.0, 1_778.0, 3_162.0, 5_623.0, 10_000.0];
const QUICK: [f64; 3] = [500.0, 1_500.0, 4_500.0];
/// Standard deviations of the noise; R does not print its own.
const NOISES: [f64; 2] = [1.0, 0.1];
/// Frequencies k of the sums.
const WAVES: usize = 128;
/// Close enough to the exact method. [R, §4]
const CLOSE: f64 = 1.05;
/// Draws that are tried at most.
const MOST_DRAWS: usize = 2_048;
const STEPS_PER_DECADE: i32 = 8;
const SMALLEST_EXPONENT: i32 = -6;

pub(super) struct RudiRates;

/// Every problem with every noise, and its name.
fn cases() -> Vec<(&'static SplineProblem, f64, String)> {
    let of_problem = |problem: &'static SplineProblem| {
        NOISES.map(|noise| (problem, noise, format!("{} noise={noise}", problem.name)))
    };
    PROBLEMS.iter().flat_map(of_problem).collect()
}

fn places(settings: &Settings) -> &'static [f64] {
    settings.size(&FULL, &QUICK)
}

impl Study for RudiRates {
    fn quantities(&self) -> &'static [&'static str] {
        &["risk", "lambda", "features", "risk_of_features"]
    }

    fn keys(&self, settings: &Settings) -> Vec<Key> {
        let names: Vec<String> = cases().into_iter().map(|(.., name)| name).collect();
        Key::all(&names, places(settings), settings.repeats)
    }

    fn measure(&self, settings: &Settings, book: &mut Book) -> Result<(), ReproduceError> {
        for (problem, noise, name) in cases() {
            let missing = book.missing_of(&name);
            book.measure(settings.threads, &missing, |key| problem.point(key, noise, settings))?;
        }
        Ok(())
    }

    fn findings(&self, settings: &Settings, book: &Book) -> Findings {
        let places = places(settings);
        let (mut rows, mut charts, mut falls, mut within, mut inside) = (Vec::new(), Vec::new(), true, 0, 0);
        for (problem, noise, name) in cases() {
            let expected = problem.exponents();
            for ((quantity, what), expected) in
                [("risk", "excess risk"), ("lambda", "λ"), ("features", "features M")].into_iter().zip(expected)
            {
                let points = means(book, &name, places, quantity);
                let found = slope_of_repeats(book, &name, places, quantity);
                let deviation = found.error * (settings.repeats as f64).sqrt();
                let is_within = (found.value - expected).abs() <= deviation;
                within += usize::from(is_within);
                let is_inside = (found.value - expected).abs() <= 1.96 * found.error;
                inside += usize::from(is_inside);
                falls &= expected > 0.0 || found.value < 0.0; // few repetitions say nothing about the growth of M
                rows.push(vec![
                    name.replace(' ', ", "),
                    what.to_owned(),
                    format!("{expected:.3}"),
                    format!("{:.3}", found.value),
                    format!("{:.3} to {:.3}", found.value - 1.96 * found.error, found.value + 1.96 * found.error),
                    if is_inside { "yes" } else { "no" }.to_owned(),
                    format!("{deviation:.3}"),
                    if is_within { "yes" } else { "no" }.to_owned(),
                ]);
                let theory: Vec<(f64, Mean)> = points
                    .iter()
                    .map(|(n, _)| (*n, Mean { value: points[0].1.value * (n / places[0]).powf(expected), error: 0.0 }))
                    .collect();
                let lines = vec![series("measured", &points), series("theory, from the first point", &theory)];
                let end = format!("{quantity}-{}-{noise}", problem.kernel);
                charts.push((end, chart(&format!("{name}: {what}"), "rows n", what, lines)));
            }
        }
        let heads = [
            "problem",
            "quantity",
            "theory",
            "slope",
            "95% interval of the mean",
            "theory in it",
            "deviation of one repetition",
            "within it",
        ];
        let text = format!(
            "Expected (R, Theorem 3 and Figure 3): risk, λ and features of the spline problem follow powers of n, within one \
             standard deviation over repetitions.\n\nFound: {within} of {} slopes are within one standard deviation of theory, as R claims, \
             and the 95% intervals of {inside} contain it. R does not print the noise and x₀; x₀ and ε are 0 here. {} repetitions.\n\n{}",
            rows.len(),
            settings.repeats,
            table(&heads, &rows)
        );
        Findings { text, charts, as_expected: falls }
    }
}

impl SplineProblem {
    /// Of risk, λ and features, with α = γ.
    fn exponents(&self) -> [f64; 3] {
        let regularity = Regularity { source: self.r, capacity: self.gamma, leverage: self.gamma };
        let rate = rate(regularity, 1.0, 1_000, 0.05);
        let scale = 2.0 * self.r + self.gamma;
        [-2.0 * self.r / scale, -1.0 / scale, rate.feature_exponent]
    }

    /// Coefficients of the target: 1, then the cosines; those of the sines are 0.
    fn target(&self) -> Vec<f64> {
        (0..=WAVES).map(|k| if k == 0 { 1.0 } else { SQRT_2 * (k as f64).powi(-self.target) }).collect()
    }

    /// Σ of the squared coefficients of the target beyond the sums.
    fn tail(&self) -> f64 {
        (WAVES + 1..100 * WAVES).map(|k| 2.0 * (k as f64).powi(-2 * self.target)).sum()
    }

    /// ∫(f̂ − f*)² from the coefficients of f̂: 1, cosines, sines.
    fn risk(&self, coefficients: &Array1<f64>) -> f64 {
        let own: f64 = self.target().iter().zip(coefficients).map(|(target, found)| (found - target).powi(2)).sum();
        own + coefficients.slice(s![WAVES + 1..]).mapv(|value| value * value).sum() + self.tail()
    }

    /// One table of n rows: the best λ of the exact method, and the fewest features that come close to it.
    fn point(&self, key: &Key, noise: f64, settings: &Settings) -> Result<Vec<f64>, ReproduceError> {
        let n = key.x as usize;
        let seed = settings.seed.wrapping_add(key.repeat);
        let mut stream = Stream::new(seed, Purpose::Permutations, n as u64);
        let inputs = Array2::from_shape_simple_fn((n, 1), || stream.uniform());
        let target = self.target();
        let value = |x: f64| {
            let waves = target.iter().enumerate().skip(1).map(|(k, c)| c * SQRT_2 * (TAU * k as f64 * x).cos());
            target[0] + waves.sum::<f64>()
        };
        let targets: Array1<f64> = inputs.iter().map(|x| value(*x) + noise * stream.normal()).collect();
        let (equations_of_waves, roots) = self.waves(&inputs, &targets);
        let path = RidgePath::new(&equations_of_waves, 1);
        let mut best = (f64::INFINITY, 1.0);
        for step in SMALLEST_EXPONENT * STEPS_PER_DECADE..=0 {
            let ridge = 10_f64.powf(f64::from(step) / f64::from(STEPS_PER_DECADE));
            let weights = path.solution(&equations_of_waves, ridge, 1)?.weights;
            let risk = self.risk(&(&weights.column(0) * &roots));
            if risk < best.0 {
                best = (risk, ridge);
            }
        }
        let (risk, ridge) = best;
        let (draws, reached) = self.fewest_draws((&inputs, &targets), ridge, CLOSE * risk, seed)?;
        Ok(vec![risk, ridge, draws as f64, reached])
    }

    /// The normal equations of the kernel's own coordinates √μₖ·eₖ(x), and √μ.
    fn waves(&self, inputs: &Array2<f64>, targets: &Array1<f64>) -> (NormalEquations, Array1<f64>) {
        let order = -(self.kernel.cast_signed()) / 2;
        let root = |index: usize| {
            let k = if index <= WAVES { index } else { index - WAVES };
            if k == 0 { 1.0 } else { (k as f64).powi(order) }
        };
        let roots: Array1<f64> = (0..=2 * WAVES).map(root).collect();
        let wave = |index: usize, x: f64| match index {
            0 => 1.0,
            k if k <= WAVES => SQRT_2 * (TAU * k as f64 * x).cos(),
            k => SQRT_2 * (TAU * (k - WAVES) as f64 * x).sin(),
        };
        let n = inputs.nrows();
        let psi =
            Array2::from_shape_fn((n, 2 * WAVES + 1), |(row, index)| roots[index] * wave(index, inputs[[row, 0]]));
        let equations = NormalEquations {
            gram: psi.t().dot(&psi) / n as f64,
            right_side: psi.t().dot(targets).insert_axis(Axis(1)) / n as f64,
            mean_feature: psi.sum_axis(Axis(0)) / n as f64,
            target_mean_square: Array1::from_elem(1, targets.dot(targets) / n as f64),
            weight: n as f64,
            sample_count: n,
        };
        (equations, roots)
    }

    /// The fewest draws, of a ladder with steps of a tenth, whose risk is at most `enough`, and that risk. Smaller counts are
    /// the first draws of larger ones, so one Gram matrix serves many.
    fn fewest_draws(
        &self,
        (inputs, targets): (&Array2<f64>, &Array1<f64>),
        ridge: f64,
        enough: f64,
        seed: u64,
    ) -> Result<(usize, f64), ReproduceError> {
        let kernel = Kernel::Spline { order: self.kernel };
        let (mut tried, mut last) = (4_usize, f64::INFINITY);
        let mut size = 256;
        loop {
            let map = FeatureMap::sample(kernel, MapKind::Spline, Sampling::Plain, seed, size, 1);
            let knots = map.frequencies.written_out().column(0).to_owned();
            let all = equations(&map, inputs.view(), targets.view())?;
            while tried <= size {
                let factor = size as f64 / tried as f64;
                let own = NormalEquations {
                    gram: all.gram.slice(s![..tried, ..tried]).to_owned() * factor,
                    right_side: all.right_side.slice(s![..tried, ..]).to_owned() * factor.sqrt(),
                    mean_feature: all.mean_feature.slice(s![..tried]).to_owned() * factor.sqrt(),
                    target_mean_square: all.target_mean_square.clone(),
                    ..all
                };
                let weights = solve_ridge(&own, ridge, 1)?.weights;
                last = self.risk(&self.coefficients(&knots.slice(s![..tried]).to_owned(), &weights));
                if last <= enough {
                    return Ok((tried, last));
                }
                tried = (tried + 1).max(tried * 11 / 10);
            }
            if size == MOST_DRAWS {
                return Ok((size, last));
            }
            size = (2 * size).min(MOST_DRAWS);
        }
    }

    /// Of Σ wⱼΛ_{q/2}(x, ωⱼ)/√M in the orthonormal functions.
    fn coefficients(&self, knots: &Array1<f64>, weights: &Array2<f64>) -> Array1<f64> {
        let order = -(self.kernel.cast_signed()) / 2;
        let scale = (knots.len() as f64).sqrt().recip();
        let mut found = Array1::zeros(2 * WAVES + 1);
        for (knot, weight) in knots.iter().zip(weights.column(0)) {
            found[0] += weight * scale;
            for k in 1..=WAVES {
                let size = weight * scale * SQRT_2 * (k as f64).powi(order);
                let (sine, cosine) = (TAU * k as f64 * knot).sin_cos();
                found[k] += size * cosine;
                found[WAVES + k] += size * sine;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::fits::exact;

    /// The waves give the predictions of the exact method on the spline kernel itself, and the risk is the integral.
    #[test]
    fn sums_over_waves_are_the_exact_method() {
        for problem in &PROBLEMS {
            let inputs = Array2::from_shape_fn((150, 1), |(i, _)| (i as f64 * 0.618_034).fract());
            let targets: Array1<f64> = inputs.iter().map(|x| (9.0 * x).sin() + x).collect();
            let kernel = Kernel::Spline { order: problem.kernel };
            let solved = exact(kernel, inputs.view(), targets.view(), 1e-3, 1).solve(None, &|| true).unwrap();
            let grid = Array2::from_shape_fn((2_000, 1), |(i, _)| (i as f64 + 0.5) / 2_000.0);
            let values = solved.predict(grid.view());
            let (equations, roots) = problem.waves(&inputs, &targets);
            let weights = solve_ridge(&equations, 1e-3, 1).unwrap().weights;
            let of_target = |x: f64| {
                let waves =
                    (1..2_000).map(|k| 2.0 * (TAU * f64::from(k) * x).cos() * f64::from(k).powi(-problem.target));
                1.0 + waves.sum::<f64>()
            };
            let integral: f64 =
                grid.iter().zip(values.column(0)).map(|(x, value)| (value - of_target(*x)).powi(2)).sum::<f64>()
                    / 2_000.0;
            let risk = problem.risk(&(&weights.column(0) * &roots));
            assert!((risk / integral - 1.0).abs() < 1e-3, "{risk} {integral}");
        }
    }

    /// The exponents that the issue of R's Figure 3 names.
    #[test]
    fn exponents_are_those_of_the_figure() {
        for (problem, expected) in PROBLEMS.iter().zip([[-0.917, -0.667, 0.333], [-0.875, -0.5, 0.5]]) {
            for (found, expected) in problem.exponents().iter().zip(expected) {
                assert!((found - expected).abs() < 1e-3, "{found} {expected}");
            }
        }
    }
}
