//! The description of a model, the same in the service and on the command line.

use super::{FittedModel, Head};
use crate::dataset::{ColumnKind, InputColumn};
use crate::features::Kernel;
use serde_json::{Value, json};

impl FittedModel {
    /// Shapes, the resolved spec, the report of the fit with its summary, and an example row.
    pub fn describe(&self) -> Value {
        let mut report = json!({"summary": self.own_summary()});
        if let (Value::Object(report), Value::Object(rest)) = (&mut report, self.report.to_json()) {
            report.extend(rest);
            report.insert("measured".to_owned(), self.measurements());
        }
        json!({
            "target": self.head.targets().first(),
            "targets": self.head.targets(),
            "columns": self.inputs.encoding.columns,
            "example_row": example_row(self),
            "kernel": describe_kernel(self.map.kernel),
            "shapes": {
                "inputs": self.inputs.input_dim(),
                "features": self.map.feature_count(),
                "draws": self.map.draw_count(),
            },
            "labels": self.head.labels().map(|labels| &labels.labels),
            "outputs": outputs(self),
            "spec": serde_json::from_str::<Value>(&self.spec).unwrap_or_default(),
            "report": report,
        })
    }
}

/// The outputs that predictions of this model can have, the default first.
fn outputs(model: &FittedModel) -> Vec<&'static str> {
    let calibrated = model.calibration_scores().is_some();
    let (mut names, optional) = match &model.head {
        Head::Numbers { .. } => (
            vec!["value"],
            vec![
                ("interval", calibrated),
                ("error_bar", model.error_bars.is_some()),
                ("spread", model.spread.is_some()),
            ],
        ),
        Head::Labels(labels) => (
            vec!["label", "decision_values"],
            vec![("probabilities", labels.slope.is_some()), ("label_set", calibrated)],
        ),
    };
    names.extend(optional.into_iter().filter(|(_, there)| *there).map(|(name, _)| name));
    names
}

fn describe_kernel(kernel: Kernel) -> Value {
    let mut description = json!({"name": kernel.shape().name()});
    if let Some(bandwidth) = kernel.bandwidth() {
        description["bandwidth"] = json!(bandwidth);
    }
    match kernel {
        Kernel::Matern { nu, .. } => description["nu"] = json!(nu),
        Kernel::Spline { order } => description["order"] = json!(order),
        Kernel::Gaussian { .. } | Kernel::Laplace { .. } | Kernel::Cauchy { .. } | Kernel::Angular | Kernel::Linear => {
        }
    }
    description
}

/// A row in the middle of the training data.
fn example_row(model: &FittedModel) -> Vec<Value> {
    let mut fill = model.inputs.scaling.fill.iter();
    let example = |column: &InputColumn| match column.kind {
        ColumnKind::Numeric => json!(fill.next()),
        ColumnKind::Boolean => json!(fill.next().is_some_and(|share| *share >= 0.5)),
        ColumnKind::Categorical => {
            let shares = fill.by_ref().take(column.levels.len());
            let most = shares.enumerate().max_by(|left, right| left.1.total_cmp(right.1));
            json!(most.map(|(level, _)| &column.levels[level]))
        }
    };
    model.inputs.encoding.columns.iter().map(example).collect()
}
