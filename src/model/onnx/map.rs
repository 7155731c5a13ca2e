//! The nodes that compute ψ, in the precision the model is served in. Its amplitude is folded into the weights.

use super::graph::{Element, Graph};
use crate::features::{CosineSeries, FeatureMap, Kernel, MapKind, Precision};
use std::f64::consts::{PI, TAU};

/// Adds the nodes from the f64 tensor `inputs` (rows×d) to the f64 tensor `features` (rows×s) of a random feature map.
pub(super) fn write(graph: &mut Graph, map: &FeatureMap, precision: Precision, inputs: &str) -> &'static str {
    if let Kernel::Spline { order } = map.kernel {
        return write_spline(graph, map, &CosineSeries::new(order / 2), inputs);
    }
    let element = match precision {
        Precision::Mixed => Element::Float,
        Precision::Double => Element::Double,
    };
    let angles = if map.kernel.is_heavy_tailed() {
        write_reduced_angles(graph, map, element, inputs)
    } else {
        write_angles(graph, map, element, inputs)
    };
    let waves = match map.kind {
        MapKind::Pair => {
            graph.node("Cos", &[angles], "cosines", &[]);
            graph.node("Sin", &[angles], "sines", &[]);
            graph.node("Concat", &["cosines", "sines"], "waves", &[("axis", 1)]);
            "waves"
        }
        MapKind::Phase => {
            graph.node("Cos", &[angles], "waves", &[]);
            "waves"
        }
        MapKind::Sign => {
            graph.numbers("zero", element, &[], std::iter::once(0.0));
            graph.numbers("plus", element, &[], std::iter::once(1.0));
            graph.numbers("minus", element, &[], std::iter::once(-1.0));
            graph.node("GreaterOrEqual", &[angles, "zero"], "above", &[]); // sgn(0) = 1
            graph.node("Where", &["above", "plus", "minus"], "waves", &[]);
            "waves"
        }
        MapKind::Linear | MapKind::Spline | MapKind::Points => angles, // points have a file of their own
    };
    if element == Element::Double {
        return waves;
    }
    graph.cast(waves, Element::Double, "features"); // sums over features are in f64
    "features"
}

/// V·x and the phases in the precision of the features.
fn write_angles(graph: &mut Graph, map: &FeatureMap, element: Element, inputs: &str) -> &'static str {
    let inputs = if element == Element::Double {
        inputs
    } else {
        graph.cast(inputs, element, "rounded");
        "rounded"
    };
    write_projection(graph, map, element, inputs)
}

/// V·x and the phases in f64, reduced to (−π, π] before they are rounded to f32.
fn write_reduced_angles(graph: &mut Graph, map: &FeatureMap, element: Element, inputs: &str) -> &'static str {
    let angles = write_projection(graph, map, Element::Double, inputs);
    graph.number("turn", TAU);
    graph.node("Div", &[angles, "turn"], "turns", &[]);
    graph.node("Round", &["turns"], "whole_turns", &[]);
    graph.node("Mul", &["whole_turns", "turn"], "unwound", &[]);
    graph.node("Sub", &[angles, "unwound"], "reduced", &[]);
    if element == Element::Double {
        return "reduced";
    }
    graph.cast("reduced", element, "reduced_rounded");
    "reduced_rounded"
}

fn write_projection(graph: &mut Graph, map: &FeatureMap, element: Element, inputs: &str) -> &'static str {
    let frequencies = map.frequencies.written_out(); // m×d
    let (m, d) = frequencies.dim();
    graph.numbers("frequencies", element, &[d, m], frequencies.t().iter().copied());
    graph.node("MatMul", &[inputs, "frequencies"], "angles", &[]);
    if map.phases.is_empty() {
        return "angles";
    }
    graph.numbers("phases", element, &[m], map.phases.iter().copied());
    graph.node("Add", &["angles", "phases"], "phased", &[]);
    "phased"
}

/// 1 + 2Σ cos(2πk(x−ω))/k^q at every knot ω, by the closed form that [`CosineSeries`] has; all in f64.
pub(super) fn write_spline(graph: &mut Graph, map: &FeatureMap, series: &CosineSeries, inputs: &str) -> &'static str {
    let knots = map.frequencies.written_out();
    graph.numbers("knots", Element::Double, &[1, map.draw_count()], knots.iter().copied());
    graph.number("one", 1.0);
    graph.number("two", 2.0);
    graph.number("turn", TAU);
    graph.node("Sub", &[inputs, "knots"], "differences", &[]);
    graph.node("Round", &["differences"], "whole", &[]);
    graph.node("Sub", &["differences", "whole"], "signed_fractions", &[]);
    graph.node("Abs", &["signed_fractions"], "fractions", &[]);
    graph.node("Mul", &["fractions", "turn"], "theta", &[]); // in [0, π]
    if series.q == 1 {
        graph.number("half_turn", PI);
        graph.node("Mul", &["fractions", "half_turn"], "half_theta", &[]);
        graph.node("Sin", &["half_theta"], "sine", &[]);
        graph.node("Mul", &["sine", "two"], "chord", &[]);
        graph.node("Log", &["chord"], "logarithm", &[]);
        graph.node("Mul", &["logarithm", "two"], "doubled", &[]);
        graph.node("Sub", &["one", "doubled"], "features", &[]);
        return "features";
    }
    let polynomial = write_even_polynomial(graph, &series.even);
    graph.number("special_power", f64::from(series.q - 1));
    graph.number("special_coefficient", series.special);
    graph.node("Pow", &["theta", "special_power"], "power", &[]);
    graph.node("Mul", &["power", "special_coefficient"], "special", &[]);
    let special = if series.q % 2 == 0 {
        "special"
    } else {
        graph.number("harmonic", series.harmonic);
        graph.number("smallest", f64::MIN_POSITIVE); // 0·ln 0 is 0 here
        graph.node("Max", &["theta", "smallest"], "positive_theta", &[]);
        graph.node("Log", &["positive_theta"], "logarithm", &[]);
        graph.node("Sub", &["harmonic", "logarithm"], "rest", &[]);
        graph.node("Mul", &["special", "rest"], "special_logarithm", &[]);
        "special_logarithm"
    };
    graph.node("Add", &[&polynomial, special], "series", &[]);
    graph.node("Mul", &["series", "two"], "doubled", &[]);
    graph.node("Add", &["doubled", "one"], "features", &[]);
    "features"
}

/// Σ cᵢ θ^{2i}, by Horner's rule.
fn write_even_polynomial(graph: &mut Graph, coefficients: &[f64]) -> String {
    graph.node("Mul", &["theta", "theta"], "theta_squared", &[]);
    let mut sum = String::new();
    for (index, coefficient) in coefficients.iter().enumerate().rev() {
        let constant = format!("coefficient_{index}");
        graph.number(&constant, *coefficient);
        if sum.is_empty() {
            sum = constant;
            continue;
        }
        let (product, next) = (format!("product_{index}"), format!("sum_{index}"));
        graph.node("Mul", &[&sum, "theta_squared"], &product, &[]);
        graph.node("Add", &[&product, &constant], &next, &[]);
        sum = next;
    }
    sum
}
