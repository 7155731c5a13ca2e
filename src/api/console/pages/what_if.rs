//! What a prediction would be with one column changed, beside the mean prediction over training rows.

use super::{items, text};
use crate::api::console::api_client::ApiClient;
use crate::api::console::display::number;
use crate::plots::mini_curve;
use axum::http::Method;
use serde_json::{Value, json};

/// Most rows that are predicted for the curves of a page.
const MOST_ROWS: usize = 1000;

/// The partial dependence of one output on a column of numbers.
pub(super) struct Dependence {
    /// The place of the column among the inputs.
    column: usize,
    name: String,
    /// The output whose mean it is.
    output: String,
    /// (value of the column, mean prediction).
    means: Vec<(f64, f64)>,
}

impl Dependence {
    /// Of the first output on every column that has one.
    pub(super) fn all(explanations: &Value) -> Vec<Self> {
        let of_column = |(column, found): (usize, &Value)| {
            let curve = &found["partial_dependence"];
            let (output, values) = curve["outputs"].as_object()?.iter().next()?;
            let points: Option<Vec<f64>> = items(&curve["points"]).map(Value::as_f64).collect();
            let means = points?.into_iter().zip(items(values).filter_map(Value::as_f64)).collect::<Vec<_>>();
            (means.len() > 1).then(|| Self { column, name: text(&found["column"]), output: output.clone(), means })
        };
        items(&explanations["columns"]).enumerate().filter_map(of_column).collect()
    }

    /// The place of the column.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// The ends of the column.
    pub(super) fn ends(&self) -> (f64, f64) {
        let end = |point: Option<&(f64, f64)>| point.map_or(0.0, |(x, _)| *x);
        (end(self.means.first()), end(self.means.last()))
    }

    fn curve(&self, own: &[(f64, f64)], at: f64) -> String {
        let (low, high) = self.ends();
        let change = |points: &[(f64, f64)]| {
            let end = |point: Option<&(f64, f64)>| point.map_or_else(String::new, |(_, y)| number(*y));
            format!("from {} to {}", end(points.first()), end(points.last()))
        };
        let of_row = if own.is_empty() { String::new() } else { format!("this prediction goes {}, ", change(own)) };
        let title = format!(
            "As {} goes from {} to {}, {of_row}the mean over training rows {}",
            self.name,
            number(low),
            number(high),
            change(&self.means)
        );
        mini_curve(own, &self.means, at, &title)
    }
}

/// The curve of each column that has one, as an SVG element: the row with other values in this column, and the mean.
pub(super) async fn curves(
    api: &ApiClient,
    (link, labels): (&str, bool),
    row: &[Value],
    dependences: &[Dependence],
) -> Vec<(usize, String)> {
    let changed = |column: usize, value: f64| {
        let mut changed = row.to_vec();
        if let Some(cell) = changed.get_mut(column) {
            *cell = json!(value);
        }
        Value::Array(changed)
    };
    let points = dependences.iter().flat_map(|found| found.means.iter().map(|(value, _)| (found.column, *value)));
    let rows: Vec<Value> = points.take(MOST_ROWS).map(|(column, value)| changed(column, value)).collect();
    let mut request = json!({"rows": rows});
    if labels {
        request["outputs"] = json!(["decision_values"]);
    }
    let answer = api.send_json(Method::POST, &format!("/api/v1/models/{link}/predict"), &request).await;
    // The prediction of the row itself says what is wrong with it.
    let predicted: Vec<&Value> = answer.iter().flat_map(|answer| items(&answer["predictions"])).collect();
    let mut first = 0;
    let curve = |dependence: &Dependence| {
        let found = predicted.get(first..first + dependence.means.len()).unwrap_or_default();
        first += dependence.means.len();
        let points = dependence.means.iter().zip(found);
        let own: Option<Vec<(f64, f64)>> =
            points.map(|((x, _), found)| Some((*x, output(found, &dependence.output)?))).collect();
        let at = row.get(dependence.column).and_then(Value::as_f64).unwrap_or(dependence.ends().0);
        (dependence.column, dependence.curve(&own.unwrap_or_default(), at))
    };
    dependences.iter().map(curve).collect()
}

/// The number of a prediction: the value, that of one target, or a decision value.
fn output(prediction: &Value, wanted: &str) -> Option<f64> {
    let decision = &prediction["decision_values"];
    [prediction, &prediction[wanted], decision, &decision[wanted]].into_iter().find_map(Value::as_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_columns_of_numbers_have_a_curve() {
        let explanations = json!({"columns": [
            {"column": "a", "partial_dependence": {"points": [1, 2], "outputs": {"y": [3, 4], "z": [5, 6]}}},
            {"column": "b", "partial_dependence": {"points": ["red", "blue"], "outputs": {"y": [3, 4]}}},
            {"column": "c", "partial_dependence": null},
        ]});
        let found = Dependence::all(&explanations);
        assert_eq!((found.len(), found[0].column(), found[0].ends()), (1, 0, (1.0, 2.0)));
        assert_eq!((found[0].output.as_str(), &found[0].means[..]), ("y", &[(1.0, 3.0), (2.0, 4.0)][..]));
        let svg = found[0].curve(&[(1.0, 7.0), (2.0, 8.0)], 1.5);
        assert!(svg.contains("As a goes from 1 to 2, this prediction goes from 7 to 8, the mean"), "{svg}");
    }

    #[test]
    fn the_number_of_a_prediction() {
        assert_eq!(output(&json!(2.5), "y"), Some(2.5));
        assert_eq!(output(&json!({"y": 1.0, "z": 2.0}), "z"), Some(2.0));
        assert_eq!(output(&json!({"label": "a", "decision_values": {"a": 3.0}}), "a"), Some(3.0));
        assert_eq!(output(&json!({"label": "a", "decision_values": -1.0}), "t"), Some(-1.0));
    }
}
