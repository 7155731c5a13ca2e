//! Exact kernel ridge regression against the golden solutions.

use crate::golden::{assert_close, data, kernel, load, number, vector};
use bochner::solver::ExactKrr;
use ndarray::Axis;

#[test]
fn the_exact_solution_is_the_golden_one() {
    for set in ["diabetes", "syn1d", "syn3d"] {
        let (inputs, targets) = data(set);
        let file = load(&format!("guarantees_{set}.json"));
        for golden_kernel in file["kernels"].as_array().unwrap() {
            let exact_kernel = kernel(golden_kernel);
            for case in golden_kernel["lambdas"].as_array().unwrap() {
                let column = targets.view().insert_axis(Axis(1));
                let exact = ExactKrr::solve(exact_kernel, inputs.clone(), column, number(&case["lam"]), 2).unwrap();
                assert!(exact.relative_residual < 1e-12);
                assert_close(exact.quadratic_form / number(&case["Q"]), 1.0, 1e-8, "Q");
                assert_close(exact.fitted_square / number(&case["Kalpha_norm2"]), 1.0, 1e-8, "|K alpha|^2");
                for (found, expected) in exact.coefficients.iter().zip(&vector(&case["alpha_first5"])) {
                    assert_close(*found, *expected, 1e-9, "alpha");
                }
                // f = Kα on the training rows, and Q = αᵀ(y − nλα).
                let fitted = exact.predict(inputs.view());
                assert_close((&fitted * &exact.coefficients).sum(), exact.quadratic_form, 1e-9, "alpha' K alpha");
            }
        }
    }
}
