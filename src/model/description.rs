//! The description of a model, the same in the service and on the command line.

use super::{ColumnRange, FittedModel, Head};
use crate::dataset::{ColumnKind, DateParts, InputColumn, LEVEL_INPUTS, format_instant};
use crate::features::Kernel;
use crate::theory::RowAccess;
use crate::theory::papers::rudi_rosasco::calibrated_factor;
use serde_json::{Value, json};

impl FittedModel {
    /// Shapes, the resolved spec, the report of the fit with its summary, and an example row.
    pub fn describe(&self) -> Value {
        self.describe_with(RowAccess::Gone)
    }

    /// The same for readers with this access to the training rows: the summary then advises a job that can read them.
    pub fn describe_with(&self, rows: RowAccess) -> Value {
        let mut report = json!({"summary": self.own_summary(rows)});
        if let (Value::Object(report), Value::Object(rest)) = (&mut report, self.report.to_json()) {
            report.extend(rest);
            report.insert("measured".to_owned(), self.measurements());
            let names = self.inputs.encoding.columns.iter().map(|column| column.name.as_str());
            report.extend(self.metric.as_ref().map(|metric| ("metric".to_owned(), metric.to_json(names))));
            report.extend(self.selection_report().map(|selection| ("selection".to_owned(), selection)));
            report.extend(self.cross_validation.as_ref().map(|found| ("cross_validation".to_owned(), found.to_json())));
            report.extend(self.learning_curve.as_ref().map(|found| ("learning_curve".to_owned(), found.to_json(self))));
            let spec: Value = serde_json::from_str(&self.spec).unwrap_or_default();
            let split = if spec["split"].is_object() { spec["split"].clone() } else { json!({"by": "random"}) };
            report.insert("split".to_owned(), split);
            report.extend(self.learner_choice.map(|choice| ("learner_choice".to_owned(), choice.to_json())));
            if let Some(search) = &self.search {
                let search = search.to_json(self.head.labels().is_some(), self.resolved_spec());
                report.insert("search".to_owned(), search);
            }
            if let Some(trials) = &self.trials {
                let c0 = self.evidence.as_ref().and_then(|found| calibrated_factor(found, self.failure_probability));
                report.insert("feature_trials".to_owned(), trials.to_json(c0));
            }
        }
        json!({
            "target": self.head.targets().first(),
            "targets": self.head.targets(),
            "columns": columns(self),
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

impl FittedModel {
    /// The spec with what the search chose in the place of rules. Trained by it, a metric is learned anew.
    fn resolved_spec(&self) -> Value {
        let mut spec = serde_json::from_str::<Value>(&self.spec).unwrap_or_default();
        spec["kernel"] = describe_kernel(self.map.kernel);
        if let Some(metric) = &self.metric {
            spec["kernel"]["metric"] = json!(metric.chosen.name());
        }
        spec["lambda"] = json!(self.report.lambda);
        spec
    }
}

/// The input columns, each with its range in the fitted rows if that is kept.
fn columns(model: &FittedModel) -> Vec<Value> {
    let ranges = model.ranges.iter().flat_map(|ranges| ranges.columns.iter().copied());
    let describe = |(column, range): (&InputColumn, Option<ColumnRange>)| {
        let mut described = json!(column);
        if let Some(ColumnRange { low, high }) = range {
            let is_date = matches!(column.kind, ColumnKind::Date | ColumnKind::Datetime);
            let end = |end: f64| if is_date { json!(format_instant(end)) } else { json!(end) };
            described["range"] = json!({"low": end(low), "high": end(high)});
        }
        if let Some(signs) = &column.signs {
            described["signs"] = json!({"inputs": LEVEL_INPUTS, "rare_levels": signs.rare_count()});
        }
        described
    };
    let columns = model.inputs.encoding.columns.iter();
    columns.zip(ranges.chain(std::iter::repeat(None))).map(describe).collect()
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
                ("certified_error_bar", model.has_certified_bars()),
                ("spread", model.spread.is_some()),
            ],
        ),
        Head::Labels(labels) => (
            vec!["label", "decision_values"],
            vec![("probabilities", labels.slope.is_some()), ("label_set", calibrated)],
        ),
    };
    let of_any =
        [("contributions", model.has_contributions()), ("in_range", model.ranges.is_some()), ("warnings", true)];
    let optional = optional.into_iter().chain(of_any);
    names.extend(optional.filter(|(_, there)| *there).map(|(name, _)| name));
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
        ColumnKind::Date | ColumnKind::Datetime => {
            let parts = if column.kind == ColumnKind::Date { DateParts::Date } else { DateParts::DateAndTime };
            let days = fill.by_ref().take(parts.names().len()).next().copied();
            json!(days.map(|days| format_instant((days * 86_400.0).round())))
        }
        ColumnKind::Text => Value::Null,
        ColumnKind::Categorical if column.signs.is_some() => {
            let means: Vec<f64> = fill.by_ref().take(LEVEL_INPUTS).copied().collect();
            let most = column.signs.as_ref().and_then(|signs| signs.nearest_to(&means));
            json!(most.or(Some(0)).and_then(|level| column.levels.get(level)))
        }
        ColumnKind::Categorical => {
            let shares = fill.by_ref().take(column.levels.len());
            let most = shares.enumerate().max_by(|left, right| left.1.total_cmp(right.1));
            json!(most.map(|(level, _)| &column.levels[level]))
        }
    };
    model.inputs.encoding.columns.iter().map(example).collect()
}
