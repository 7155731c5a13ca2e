//! Reference values computed independently of this project.

use bochner::features::{FeatureMap, Frequencies, Kernel, MapKind};
use ndarray::{Array1, Array2};
use serde_json::Value;

/// One golden file.
pub(crate) fn load(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap()
}

/// The inputs and targets of a golden data set.
pub(crate) fn data(set: &str) -> (Array2<f64>, Array1<f64>) {
    let data = load(&format!("data_{set}.json"));
    (matrix(&data["X"]), vector(&data["y"]))
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

pub(crate) fn vector(value: &Value) -> Array1<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

pub(crate) fn indices(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|index| index.as_u64().unwrap() as usize).collect()
}

pub(crate) fn matrix(value: &Value) -> Array2<f64> {
    let rows: Vec<Array1<f64>> = value.as_array().unwrap().iter().map(vector).collect();
    let views: Vec<_> = rows.iter().map(|row| row.view()).collect();
    ndarray::stack(ndarray::Axis(0), &views).unwrap()
}

pub(crate) fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found} is not {expected} within {tolerance:e}");
}

/// The kernel a golden case is about.
pub(crate) fn kernel(case: &Value) -> Kernel {
    let parameter = |name: &str| number(&case["params"][name]);
    match case["kernel"].as_str().unwrap() {
        "gaussian" => Kernel::Gaussian { bandwidth: parameter("sigma") },
        "laplace" => Kernel::Laplace { bandwidth: parameter("sigma") },
        "matern" => Kernel::Matern { bandwidth: parameter("ell"), nu: parameter("nu") },
        "cauchy" => Kernel::Cauchy { bandwidth: parameter("sigma") },
        "angular" => Kernel::Angular,
        "spline" => Kernel::Spline { order: parameter("q") as u32 },
        "linear" => Kernel::Linear,
        other => panic!("{other}"),
    }
}

pub(crate) fn map_kind(case: &Value) -> MapKind {
    match case["map"].as_str().unwrap() {
        "pair" => MapKind::Pair,
        "phase" => MapKind::Phase,
        "sign" => MapKind::Sign,
        other => panic!("{other}"),
    }
}

/// The map of a golden case, with its explicit frequencies.
pub(crate) fn feature_map(case: &Value) -> FeatureMap {
    let phases = if case["map"] == "phase" { vector(&case["phases"]).to_vec() } else { Vec::new() };
    let frequencies = Frequencies::Dense(matrix(&case["V"]));
    FeatureMap { kernel: kernel(case), kind: map_kind(case), frequencies, phases, scales: None }
}
