//! The nodes that turn features into values, labels and probabilities.

use super::graph::{Element, Graph};
use crate::model::{FittedModel, Head, Labels};

/// Adds the nodes from the f64 tensor `features` (rows×s) to the outputs of the graph.
pub(super) fn write(graph: &mut Graph, model: &FittedModel, features: &str) {
    match &model.head {
        Head::Numbers { .. } => write_sums(graph, model, features, "value"),
        Head::Labels(labels) => {
            write_sums(graph, model, features, "decision_values");
            write_probabilities(graph, labels);
            write_label(graph, labels);
        }
    }
}

/// Wᵀψ + c.
fn write_sums(graph: &mut Graph, model: &FittedModel, features: &str, output: &str) {
    let (amplitude, scales) = (model.map.amplitude(), model.map.column_scales());
    let (s, k) = model.weights.dim();
    let scale = |at: usize| amplitude * scales.get(at / k).copied().unwrap_or(1.0);
    let weights = model.weights.iter().enumerate().map(|(at, weight)| weight * scale(at));
    graph.numbers("weights", Element::Double, &[s, k], weights);
    graph.numbers("intercepts", Element::Double, &[k], model.intercepts.iter().copied());
    graph.node("MatMul", &[features, "weights"], "sums", &[]);
    graph.node("Add", &["sums", "intercepts"], output, &[]);
    graph.output(output, Element::Double, Some(k));
}

/// p ∝ e^{a·f}/w, if the model has a slope a.
fn write_probabilities(graph: &mut Graph, labels: &Labels) {
    let Some(slope) = labels.slope else { return };
    let count = labels.labels.len();
    let slopes = (0..count).map(|label| if count == 2 { label as f64 * slope } else { slope });
    graph.numbers("slopes", Element::Double, &[count], slopes);
    graph.numbers("log_weights", Element::Double, &[count], labels.log_weights.iter().copied());
    graph.node("Mul", &["decision_values", "slopes"], "log_odds", &[]);
    graph.node("Sub", &["log_odds", "log_weights"], "scores", &[]);
    graph.node("Softmax", &["scores"], "probabilities", &[("axis", 1)]);
    graph.output("probabilities", Element::Double, Some(count));
}

/// The label with the largest decision value; ties go to the first. With two labels there is one decision value, and
/// the second label is chosen if it is positive.
fn write_label(graph: &mut Graph, labels: &Labels) {
    let values = if labels.labels.len() == 2 {
        graph.numbers("sides", Element::Double, &[2], [0.0, 1.0].into_iter());
        graph.node("Mul", &["decision_values", "sides"], "values", &[]);
        "values"
    } else {
        "decision_values"
    };
    graph.texts("labels", &labels.labels);
    graph.node("ArgMax", &[values], "index", &[("axis", 1), ("keepdims", 0)]);
    graph.node("Gather", &["labels", "index"], "label", &[("axis", 0)]);
    graph.output("label", Element::Text, None);
}
