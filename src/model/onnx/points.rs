//! The nodes that compute an exact kernel at given points, all in f64. A `Scan` sums distances over the columns, so that
//! no tensor is larger than rows×s; about four of those exist at once.

use super::OnnxError;
use super::graph::{Element, Graph};
use super::map::write_spline;
use crate::features::{CosineSeries, FeatureMap, Kernel};
use ndarray::Array2;
use std::f64::consts::PI;

/// How one column changes the running sum or product of distances.
#[derive(Debug, Clone, Copy)]
enum Term {
    /// + (x − z)².
    Squared,
    /// + (x + z)².
    SquaredSum,
    /// + |x − z|.
    Absolute,
    /// · (1 + `rate`·(x − z)²).
    Product,
}

/// Adds the nodes from the f64 tensor `inputs` (rows×d) to the f64 tensor `features` (rows×s).
pub(super) fn write(graph: &mut Graph, map: &FeatureMap, inputs: &str) -> Result<&'static str, OnnxError> {
    let points = map.frequencies.written_out(); // s×d
    match map.kernel {
        Kernel::Gaussian { bandwidth } => {
            let distances = write_scan(graph, "distances", Term::Squared, inputs, &points);
            write_decay(graph, &distances, 0.5 / (bandwidth * bandwidth), "features");
        }
        Kernel::Laplace { bandwidth } => {
            let distances = write_scan(graph, "distances", Term::Absolute, inputs, &points);
            write_decay(graph, &distances, 1.0 / bandwidth, "features");
        }
        Kernel::Matern { bandwidth, nu } => {
            let (linear, quadratic) = polynomial_of(nu).ok_or(OnnxError::Smoothness { nu })?;
            let squares = write_scan(graph, "squares", Term::Squared, inputs, &points);
            graph.node("Sqrt", &[&squares], "distances", &[]);
            write_matern(graph, (2.0 * nu).sqrt() / bandwidth, linear, quadratic);
        }
        Kernel::Cauchy { bandwidth } => {
            graph.number("one", 1.0);
            graph.number("rate", 1.0 / (bandwidth * bandwidth));
            let products = write_scan(graph, "products", Term::Product, inputs, &points);
            graph.node("Div", &["one", &products], "features", &[]);
        }
        Kernel::Angular => write_angular(graph, inputs, &points),
        Kernel::Spline { order } => return Ok(write_spline(graph, map, &CosineSeries::new(order), inputs)),
        Kernel::Linear => {
            write_points(graph, "points", &points);
            graph.node("MatMul", &[inputs, "points"], "features", &[]);
        }
    }
    Ok("features")
}

/// (linear, quadratic) of ρ(t) = (1 + linear·t + quadratic·t²)·e^{−t}, for the ν that have this form.
#[allow(clippy::float_cmp)] // smoothnesses with a closed form are exact numbers
fn polynomial_of(nu: f64) -> Option<(f64, f64)> {
    let known = [(0.5, 0.0, 0.0), (1.5, 1.0, 0.0), (2.5, 1.0, 1.0 / 3.0)];
    known.into_iter().find(|(closed, ..)| *closed == nu).map(|(_, linear, quadratic)| (linear, quadratic))
}

/// The points as a d×s constant, column by column.
fn write_points(graph: &mut Graph, name: &str, points: &Array2<f64>) {
    let (s, d) = points.dim();
    graph.numbers(name, Element::Double, &[d, s], points.t().iter().copied());
}

/// The terms of all columns, rows×s.
fn write_scan(graph: &mut Graph, name: &str, term: Term, inputs: &str, points: &Array2<f64>) -> String {
    let part = |part: &str| format!("{name}_{part}");
    let (constant, columns, cells, shape) = (part("points"), part("columns"), part("cells"), part("shape"));
    write_points(graph, &constant, points);
    graph.node("Transpose", &[inputs], &columns, &[]); // d×rows
    graph.numbers(&part("axis"), Element::Whole, &[1], std::iter::once(2.0));
    graph.node("Unsqueeze", &[&columns, &part("axis")], &cells, &[]); // d×rows×1
    graph.node("Shape", &[inputs], &part("rows"), &[("start", 0), ("end", 1)]);
    graph.numbers(&part("count"), Element::Whole, &[1], std::iter::once(points.nrows() as f64));
    graph.node("Concat", &[&part("rows"), &part("count")], &shape, &[("axis", 0)]);
    graph.number(&part("neutral"), if matches!(term, Term::Product) { 1.0 } else { 0.0 });
    graph.node("Expand", &[&part("neutral"), &shape], &part("start"), &[]); // rows×s

    let mut body = Graph::new(&part("column"));
    let [before, x, z, after] = ["before", "x", "z", "after"].map(part);
    for argument in [&before, &x, &z] {
        body.argument(argument, Element::Double);
    }
    let (gap, square) = (part("gap"), part("square"));
    body.node(if matches!(term, Term::SquaredSum) { "Add" } else { "Sub" }, &[&x, &z], &gap, &[]);
    match term {
        Term::Squared | Term::SquaredSum => {
            body.node("Mul", &[&gap, &gap], &square, &[]);
            body.node("Add", &[&before, &square], &after, &[]);
        }
        Term::Absolute => {
            body.node("Abs", &[&gap], &part("size"), &[]);
            body.node("Add", &[&before, &part("size")], &after, &[]);
        }
        Term::Product => {
            body.node("Mul", &[&gap, &gap], &square, &[]);
            body.node("Mul", &[&square, "rate"], &part("rated"), &[]);
            body.node("Add", &[&part("rated"), "one"], &part("factor"), &[]);
            body.node("Mul", &[&before, &part("factor")], &after, &[]);
        }
    }
    body.result(&after, Element::Double);
    graph.scan(&part("start"), &[&cells, &constant], name, body);
    name.to_owned()
}

/// e^{−rate·x}.
fn write_decay(graph: &mut Graph, distances: &str, rate: f64, output: &str) {
    graph.number("decay", -rate);
    graph.node("Mul", &[distances, "decay"], "exponents", &[]);
    graph.node("Exp", &["exponents"], output, &[]);
}

/// (1 + t·(linear + t·quadratic))·e^{−t} at t = scale·distance.
fn write_matern(graph: &mut Graph, scale: f64, linear: f64, quadratic: f64) {
    graph.number("one", 1.0);
    graph.number("scale", scale);
    graph.number("linear", linear);
    graph.number("quadratic", quadratic);
    graph.node("Mul", &["distances", "scale"], "lengths", &[]);
    graph.node("Mul", &["lengths", "quadratic"], "quadratic_part", &[]);
    graph.node("Add", &["quadratic_part", "linear"], "slope", &[]);
    graph.node("Mul", &["slope", "lengths"], "rise", &[]);
    graph.node("Add", &["rise", "one"], "polynomial", &[]);
    write_decay(graph, "lengths", 1.0, "decays");
    graph.node("Mul", &["polynomial", "decays"], "features", &[]);
}

/// 1 − (4/π)·atan2(|u−v|, |u+v|) on unit vectors. Runtimes have the arctangent in f32 alone, so one step of
/// sin(θ − θ₀) = (|u−v|·cos θ₀ − |u+v|·sin θ₀)/√(|u−v|² + |u+v|²) gives it the digits of f64. The zero vector stays
/// zero: orthogonal to all others, and equal to itself since |u+v| is kept above zero.
fn write_angular(graph: &mut Graph, inputs: &str, points: &Array2<f64>) {
    const ABOVE_ZERO: f64 = 1e-150; // its square is still a number
    let mut units = points.clone();
    for mut point in units.rows_mut() {
        let norm = point.dot(&point).sqrt();
        point.mapv_inplace(|value| if norm > 0.0 { value / norm } else { 0.0 });
    }
    graph.numbers("columns_axis", Element::Whole, &[1], std::iter::once(1.0));
    graph.number("one", 1.0);
    graph.number("smallest", f64::MIN_POSITIVE);
    graph.number("above_zero", ABOVE_ZERO);
    graph.number("per_radian", 4.0 / PI);
    graph.node("Mul", &[inputs, inputs], "input_squares", &[]);
    graph.node("ReduceSum", &["input_squares", "columns_axis"], "norm_squares", &[]); // rows×1
    graph.node("Sqrt", &["norm_squares"], "norms", &[]);
    graph.node("Max", &["norms", "smallest"], "positive_norms", &[]);
    graph.node("Div", &[inputs, "positive_norms"], "units", &[]);
    let apart = write_scan(graph, "apart_squares", Term::Squared, "units", &units);
    let along = write_scan(graph, "along_squares", Term::SquaredSum, "units", &units);
    graph.node("Sqrt", &[&apart], "apart", &[]);
    graph.node("Sqrt", &[&along], "along_or_zero", &[]);
    graph.node("Max", &["along_or_zero", "above_zero"], "along", &[]);
    graph.node("Div", &["apart", "along"], "tangents", &[]);
    graph.cast("tangents", Element::Float, "short_tangents");
    graph.node("Atan", &["short_tangents"], "short_angles", &[]);
    graph.cast("short_angles", Element::Double, "near_angles");
    graph.node("Cos", &["near_angles"], "cosines", &[]);
    graph.node("Sin", &["near_angles"], "sines", &[]);
    graph.node("Mul", &["apart", "cosines"], "apart_cosines", &[]);
    graph.node("Mul", &["along", "sines"], "along_sines", &[]);
    graph.node("Sub", &["apart_cosines", "along_sines"], "unscaled_steps", &[]);
    graph.node("Mul", &["along", "along"], "along_kept_squares", &[]);
    graph.node("Add", &[&apart, "along_kept_squares"], "radius_squares", &[]);
    graph.node("Sqrt", &["radius_squares"], "radii", &[]);
    graph.node("Div", &["unscaled_steps", "radii"], "steps", &[]);
    graph.node("Add", &["near_angles", "steps"], "angles", &[]);
    graph.node("Mul", &["angles", "per_radian"], "turned", &[]);
    graph.node("Sub", &["one", "turned"], "features", &[]);
}
