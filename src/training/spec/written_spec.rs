//! The spec as JSON, with every default written out.

use super::effort::Effort;
use super::learner::Learner;
use super::rules::{ClassWeight, IntervalRule, MetricRule};
use super::train_spec::TrainSpec;
use crate::features::KernelShape;
use serde_json::{Value, json};

impl TrainSpec {
    /// The object `kernel` with every default written out.
    fn kernel_json(&self) -> Value {
        let mut kernel = json!({"name": if self.open.kernel { "search" } else { self.kernel.name() }});
        if self.kernel.has_bandwidth() {
            kernel["bandwidth"] = self.bandwidth.to_json();
        }
        // Without a metric, one is searched for unless the effort is fast.
        if self.metric != MetricRule::None || (self.effort != Effort::Fast && self.kernel.has_bandwidth()) {
            kernel["metric"] = json!(self.metric.name());
        }
        match self.kernel {
            _ if self.open.kernel => {}
            KernelShape::Matern { nu } => kernel["nu"] = json!(nu),
            KernelShape::Spline { order } => kernel["order"] = json!(order),
            _ => {}
        }
        kernel
    }

    /// The spec with every default written out.
    pub fn to_json(&self) -> Value {
        let mut spec = json!({
            "effort": self.effort.name(),
            "learner": self.learner.map(Learner::name),
            "kernel": self.kernel_json(),
            "features": self.features_json(),
            "lambda": self.lambda.to_json(),
            "scaling": self.scaling.map_or(json!("search"), |rule| json!(rule)),
            "missing": self.missing,
            "spread": self.spread,
            "error_bars": self.error_bars,
            "updatable": self.updatable,
            "validation_fraction": self.validation_fraction,
            "guarantees": self.guarantees.to_json(),
        });
        if let (None, Some(spec)) = (self.learner, spec.as_object_mut()) {
            spec.shift_remove("learner");
        }
        if self.open.learner {
            spec["learner"] = json!("search");
        }
        if self.intervals == IntervalRule::Scaled {
            spec["intervals"] = json!("scaled");
        }
        if self.explanations {
            spec["explanations"] = json!(true);
        }
        if self.class_weight == ClassWeight::Balanced {
            spec["class_weight"] = json!("balanced");
        }
        if let Some(share) = self.calibration_fraction {
            spec["calibration_fraction"] = json!(share);
        }
        if self.design_fraction > 0.0 {
            spec["design_fraction"] = json!(self.design_fraction);
        }
        if let Some(column) = &self.sample_weight {
            spec["sample_weight"] = json!(column);
        }
        self.write_split(&mut spec);
        spec
    }
}
