//! By what rows are split into parts and folds: at random, by time, or by group.

use super::fitted_on;
use crate::dataset::{Column, ColumnKind, Schema, UnitOrder};
use crate::request::suggest;
use crate::training::TrainSpec;
use crate::training::spec::fields::Fields;
use serde_json::{Value, json};

/// The most folds of a cross-validation.
const MOST_FOLDS: u64 = 20;

/// By what rows are split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitRule {
    /// At random; labels in proportion.
    Random,
    /// By the order of a column: later rows are held out.
    Time {
        /// Of numbers or dates.
        column: String,
    },
    /// By a column whose values are never divided: all rows of a value are held out, or none.
    Group {
        /// Of any kind.
        column: String,
    },
}

/// A rule without its column.
#[derive(Clone, Copy)]
enum By {
    Random,
    Time,
    Group,
}

impl SplitRule {
    pub(crate) fn check(spec: &Fields) -> Self {
        let split = spec.object("split", &["by", "column"]);
        if !spec.has("split") {
            return Self::Random;
        }
        if !split.has("by") {
            split.problem("by", "is required: random, time or group".into());
        }
        let by = split.choice("by", By::Random, &[("random", By::Random), ("time", By::Time), ("group", By::Group)]);
        let column = split.text("column").unwrap_or_default();
        let rule = match by {
            By::Random => Self::Random,
            By::Time => Self::Time { column },
            By::Group => Self::Group { column },
        };
        if split.says("by", "random") && split.has("column") {
            split.problem("column", "a split at random goes by no column; remove it, or use by time or group".into());
        }
        if rule != Self::Random && !split.has("column") {
            split.problem("column", "is required: the name of the column that rows are split by".into());
        }
        rule
    }

    /// The column that rows are split by, which is no input.
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Random => None,
            Self::Time { column } | Self::Group { column } => Some(column),
        }
    }

    /// As in specs and reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Time { .. } => "time",
            Self::Group { .. } => "group",
        }
    }

    /// In which order the values of the column are dealt out, and the column.
    pub(crate) fn order(&self) -> Option<(UnitOrder, &str)> {
        match self {
            Self::Random => None,
            Self::Time { column } => Some((UnitOrder::Ascending, column)),
            Self::Group { column } => Some((UnitOrder::Random, column)),
        }
    }

    /// None for the default.
    fn to_json(&self) -> Option<Value> {
        self.column().map(|column| json!({"by": self.name(), "column": column}))
    }
}

/// Refuses what cannot be split by a column, or measured without held-out rows.
pub(crate) fn refuse_for_split(checked: &TrainSpec, spec: &Fields) {
    if checked.learning_curve && checked.validation_fraction == 0.0 {
        let detail = "its errors are measured on validation rows; use a validation_fraction above 0";
        spec.problem("learning_curve", detail.into());
    }
    if checked.updatable && checked.split != SplitRule::Random {
        spec.problem("updatable", "an update splits the rows it adds at random; remove split or updatable".into());
    }
}

/// The number of folds, if it is given.
pub(crate) fn check_cross_validation(spec: &Fields) -> Option<usize> {
    let requirement = format!("a whole number from 2 to {MOST_FOLDS}: the number of folds");
    let folds = spec.integer("cross_validation", 2, |folds| (2..=MOST_FOLDS).contains(&folds), &requirement);
    spec.has("cross_validation").then_some(folds as usize)
}

impl TrainSpec {
    /// Writes what is not the default.
    pub(crate) fn write_split(&self, spec: &mut Value) {
        if let Some(split) = self.split.to_json() {
            spec["split"] = split;
        }
        if let Some(folds) = self.cross_validation {
            spec["cross_validation"] = json!(folds);
        }
        if self.learning_curve {
            spec["learning_curve"] = json!(true);
        }
    }

    /// About how many of the labelled rows are fitted on; at most how many, where values of a column are not divided and
    /// shares are met only nearly.
    pub(crate) fn training_rows(&self, schema: &Schema) -> u64 {
        match self.split {
            SplitRule::Random => fitted_on(schema, self.held_out(schema.task)),
            SplitRule::Time { .. } | SplitRule::Group { .. } => schema.labelled_rows(),
        }
    }

    /// Every reason why the rows of a dataset cannot be split by the column of this spec.
    pub(crate) fn check_split(&self, schema: &Schema, problem: &mut impl FnMut(String)) {
        let Some(name) = self.split.column() else { return };
        let by = self.split.name();
        let Some(index) = schema.columns.iter().position(|column| column.name == name) else {
            let nearest = suggest::nearest(name, schema.columns.iter().map(|column| column.name.as_str()));
            return problem(format!("split names column '{name}', which the dataset does not have{nearest}"));
        };
        let column = &schema.columns[index];
        if schema.targets.contains(&index) {
            return problem(format!("column '{name}' is the target; rows cannot be split by it"));
        }
        if self.sample_weight.as_deref() == Some(name) {
            return problem(format!("column '{name}' cannot be both sample weight and the column of split"));
        }
        if column.kind == ColumnKind::Text {
            return problem(format!(
                "the texts of column '{name}' were not kept, because they name rows or are sentences; upload the table again \
                 with categorical={name} to split by it"
            ));
        }
        if self.roles(schema).inputs.is_empty() {
            return problem(format!("column '{name}' is the only input, and the column of split is no input"));
        }
        if column.missing > 0 {
            problem(format!(
                "column '{name}' has {} missing cells; a split by {by} needs a value in every row",
                column.missing
            ));
        }
        if matches!(self.split, SplitRule::Time { .. }) && !is_ordered(column) {
            problem(format!(
                "column '{name}' holds neither numbers nor dates; a split by time needs numbers, or texts that are all \
                 written alike as 2024-01-31 or 2024-01-31T23:59:59"
            ));
        }
        let needed = self.units_needed(schema);
        if !column.distinct_is_lower_bound && column.distinct < needed {
            problem(format!(
                "column '{name}' has {} different values; a split by {by} needs at least {needed}, one for each part or \
                 fold",
                column.distinct
            ));
        }
    }

    /// The values that the parts and folds of a split take, one each.
    fn units_needed(&self, schema: &Schema) -> u64 {
        let held_out = self.held_out(schema.task);
        let shares = [held_out.validation, held_out.calibration, held_out.design];
        let parts = 1 + shares.iter().filter(|share| **share > 0.0).count() as u64;
        // Folds of a split by time are tested on after what came before the first of them.
        let chained = u64::from(matches!(self.split, SplitRule::Time { .. }));
        let folds = self.cross_validation.map_or(0, |folds| folds as u64 + chained);
        parts.max(folds)
    }
}

/// Whether the codes of a column are in the order of time: those of texts are in the order of their characters.
fn is_ordered(column: &Column) -> bool {
    match column.kind {
        ColumnKind::Numeric | ColumnKind::Date | ColumnKind::Datetime => true,
        ColumnKind::Boolean | ColumnKind::Text => false,
        ColumnKind::Categorical => {
            let first = column.levels.first().map(|level| shape(level));
            column.levels.iter().all(|level| is_date(level) && Some(shape(level)) == first)
        }
    }
}

/// A text with every digit as 0.
fn shape(text: &str) -> String {
    text.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect()
}

/// A date with or without a time of day, in universal time or in none: these sort by their characters.
fn is_date(text: &str) -> bool {
    let shape = shape(text);
    let Some(rest) = shape.strip_prefix("0000-00-00") else { return false };
    let rest = rest.strip_suffix('Z').unwrap_or(rest);
    let Some(time) = rest.strip_prefix(['T', ' ']) else { return rest.is_empty() && !shape.ends_with('Z') };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let is_clock = clock == "00:00:00" || (clock == "00:00" && !time.contains('.'));
    is_clock && !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::SpecLimits;

    fn check(raw: &Value) -> Result<TrainSpec, String> {
        let limits = SpecLimits { feature_count: 4096 };
        TrainSpec::check("", Some(raw), limits).map_err(|problems| problems[0].pointer.clone())
    }

    #[test]
    fn rules_are_read_and_written() {
        for raw in [
            json!({"split": {"by": "time", "column": "t"}, "cross_validation": 4}),
            json!({"split": {"by": "group", "column": "who"}}),
            json!({"split": {"by": "random"}}),
        ] {
            let spec = check(&raw).unwrap();
            assert_eq!(check(&spec.to_json()).unwrap(), spec, "{raw}");
        }
        for (raw, pointer) in [
            (json!({"split": {"column": "t"}}), "/split/by"),
            (json!({"split": {"by": "tme", "column": "t"}}), "/split/by"),
            (json!({"split": {"by": "time"}}), "/split/column"),
            (json!({"split": {"by": "random", "column": "t"}}), "/split/column"),
            (json!({"split": {"by": "time", "column": "t", "gap": 1}}), "/split/gap"),
            (json!({"split": "time"}), "/split"),
            (json!({"split": {"by": "time", "column": "t"}, "updatable": true}), "/updatable"),
            (json!({"cross_validation": 1}), "/cross_validation"),
            (json!({"cross_validation": 21}), "/cross_validation"),
            (json!({"cross_validation": true}), "/cross_validation"),
        ] {
            assert_eq!(check(&raw), Err(pointer.to_owned()), "{raw}");
        }
    }

    #[test]
    fn dates_are_known_by_their_form() {
        for text in ["2024-01-31", "2024-01-31T23:59", "2024-01-31 23:59:59", "2024-01-31T23:59:59.250Z"] {
            assert!(is_date(text), "{text}");
        }
        for text in ["31.01.2024", "2024-1-31", "2024-01-31T", "2024-01-31Z", "2024-01-31T23:59:59+01:00", "monday", ""]
        {
            assert!(!is_date(text), "{text}");
        }
    }
}
