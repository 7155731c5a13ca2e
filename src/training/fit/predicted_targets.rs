//! What a model predicts: the meaning of its outputs, and the coding of target cells for the fit.

use crate::dataset::{ColumnMoments, Part, Schema, Task};
use crate::model::{Head, Labels, TargetCoding};
use crate::training::ClassWeight;
use crate::training::rows::classes::{Classes, check_total_weight};
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;

/// Numbers, or labels whose probabilities are not calibrated yet.
pub(crate) struct PredictedTargets {
    pub(crate) head: Head,
    pub(crate) coding: TargetCoding,
    /// Of the training rows of a classification, with class weights.
    pub(crate) classes: Option<Classes>,
    /// Of classes that do not count in proportion to their rows.
    pub(crate) class_weights: Option<Vec<f64>>,
}

impl PredictedTargets {
    /// As the schema says, from the moments of the targets over the training rows.
    pub(crate) fn of(
        schema: &Schema,
        moments: &[ColumnMoments],
        run: &Run,
        rule: ClassWeight,
    ) -> Result<Self, TrainError> {
        let mut names = schema.target_columns().map(|column| column.name.clone());
        if schema.task == Task::Regression {
            let head = Head::Numbers { targets: names.collect() };
            return Ok(Self { head, coding: TargetCoding::of_numbers(moments), classes: None, class_weights: None });
        }
        let labels = schema.labels();
        let mut classes = Classes::of(run, Part::Training, labels.len())?;
        check_total_weight(classes.weights.iter().sum(), "training")?;
        let class_weights = classes.class_weights(rule);
        classes.weigh(&class_weights);
        let head = Head::Labels(Labels {
            target: names.next().unwrap_or_default(),
            slope: None,
            log_weights: class_weights.iter().map(|weight| weight.ln()).collect(),
            labels,
        });
        Ok(Self {
            head,
            coding: TargetCoding::Classes { count: classes.class_count },
            classes: Some(classes),
            class_weights: (rule != ClassWeight::None).then_some(class_weights),
        })
    }
}
