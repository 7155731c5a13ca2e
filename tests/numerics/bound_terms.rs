//! The two terms that the bounds on the distance are made of. For features with ψ² = 1, as sign features have, their means
//! over draws are known exactly, so a simulation can tell a wrong constant from a right one, which no comparison of an
//! error with a bound far above it can.

use crate::evidence::ridge_fit;
use crate::golden::{assert_close, data};
use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::linalg::Cholesky;
use bochner::theory::ours::relative::{smallest_certified_ridge, theorem1_relative};
use bochner::theory::papers::wang::{theorem1, theorem1_sharp};
use bochner::theory::{Evidence, ExactEvidence};
use ndarray::{Array1, Array2, s};

const ROWS: usize = 100;
const FEATURES: usize = 16;
const DRAWS: u64 = 4_000;

/// The kernel of sign features by its definition.
fn angular(left: &Array2<f64>, right: &Array2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((left.nrows(), right.nrows()), |(i, j)| {
        let (x, z) = (left.row(i), right.row(j));
        let cosine = x.dot(&z) / (x.dot(&x) * z.dot(&z)).sqrt();
        std::f64::consts::FRAC_2_PI * cosine.clamp(-1.0, 1.0).asin()
    })
}

/// Mean and standard error of the mean.
fn average(values: &[f64]) -> (f64, f64) {
    let values = Array1::from(values.to_vec());
    (values.mean().unwrap(), values.std(1.0) / (values.len() as f64).sqrt())
}

/// E(k̃ᵀα − f)² = (Q − f²)/m at any input, and E‖(K̃ − K)α‖² = (nQ − ‖Kα‖²)/m: with them Theorem 1 is 4Y, its sharper form
/// 2Y + 2X, and the relative bound (√(cX) + √Y)².
#[test]
fn the_terms_of_the_bounds_are_attained_by_sign_features() {
    let (inputs, targets) = data("syn3d");
    let (training, new) = (inputs.slice(s![..ROWS, ..]).to_owned(), inputs.slice(s![ROWS.., ..]).to_owned());
    let targets = targets.slice(s![..ROWS]).to_owned();
    let n = ROWS as f64;
    let ridge = smallest_certified_ridge(1.0, ROWS, FEATURES, 0.05);
    let gram = angular(&training, &training);
    let mut system = gram.clone();
    system.diag_mut().mapv_inplace(|value| value + n * ridge);
    let alpha = Cholesky::factor(system, 1).unwrap().solve(&targets);
    let (fitted, at_new) = (gram.dot(&alpha), angular(&new, &training).dot(&alpha));

    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    for seed in 0..DRAWS {
        let map = FeatureMap::sample(Kernel::Angular, MapKind::Sign, Sampling::Plain, seed, FEATURES, inputs.ncols());
        let projector = map.projector::<f64>();
        let psi = projector.transform(training.view());
        let coefficients = psi.t().dot(&alpha);
        let first = projector.transform(new.view()).dot(&coefficients) - &at_new;
        firsts.push(first.dot(&first) / first.len() as f64);
        let second = psi.dot(&coefficients) - &fitted;
        seconds.push(second.dot(&second));
    }
    let ((first, first_error), (second, second_error)) = (average(&firsts), average(&seconds));

    let (q, m) = (alpha.dot(&fitted), FEATURES as f64);
    let at_new_square = at_new.dot(&at_new) / at_new.len() as f64;
    assert_close(first, (q - at_new_square) / m, 4.0 * first_error, "E(k'a - f)^2");
    assert_close(second, (n * q - fitted.dot(&fitted)) / m, 4.0 * second_error, "E|(K' - K)a|^2");

    let solved = ExactEvidence {
        quadratic_form: q,
        fitted_square: Some(fitted.dot(&fitted)),
        fitted_form: None,
        relative_residual: 0.0,
        held_out_error: None,
    };
    let fit = ridge_fit(ROWS, (FEATURES, FEATURES), 1.0, ridge, targets.dot(&targets) / n);
    let evidence = Evidence { sign_features: true, exact: Some(solved), ..fit };
    // Four standard errors of either term are below 8% of it: a constant that is off by more is found.
    let (y, x) = (first + at_new_square / m, second / n);
    assert!(4.0 * first_error < 0.08 * y && 4.0 * second_error < 0.08 * second, "{first_error:e} {second_error:e}");
    let close = |found: Option<f64>, simulated: f64, what: &str| {
        assert_close(found.unwrap() / simulated, 1.0, 0.08, what);
    };
    close(theorem1(&evidence, 0.05).value, 4.0 * y, "Theorem 1");
    close(theorem1_sharp(&evidence, 0.05).value, 2.0 * y + 2.0 * x, "its sharper form");
    let relative = theorem1_relative(&evidence, 0.05);
    let c = 1.0 / (1.0 - relative.inputs["t"]);
    assert_close(c, 10.0, 1e-6, "at the smallest certified lambda t is 0.9");
    close(relative.value, ((c * x).sqrt() + y.sqrt()).powi(2), "the relative bound");
}
