//! A dataset as it is stored: JSON in the header of its table, and the JSON of its schema in the database.
//!
//! These structs are written by every release since tables of format 2 and change only by gaining fields with a default.
//! The live types may change freely.

use super::{
    Column, ColumnKind, ColumnReading, Dataset, DateOrder, DecimalMark, Finding, FindingCode, LeftOut, Location,
    Notation, Schema, Severity, Task,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredDataset {
    id: String,
    name: String,
    schema: StoredSchema,
    bytes: u64,
    sha256: String,
    created_at: String,
    /// Absent where the rows are in the table itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location: Option<StoredLocation>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredLocation {
    uri: String,
    files: String,
    ignored: Vec<String>,
    kept_rows: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredSchema {
    columns: Vec<StoredColumn>,
    #[serde(alias = "target")]
    targets: StoredTargets,
    task: StoredTask,
    row_count: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    findings: Vec<StoredFinding>,
}

#[derive(Serialize, Deserialize)]
struct StoredColumn {
    name: String,
    kind: StoredKind,
    levels: Vec<String>,
    missing: u64,
    distinct: u64,
    distinct_is_lower_bound: bool,
    min: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    std: Option<f64>,
    /// Absent in columns that were stored before there were rules of reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reading: Option<StoredReading>,
}

#[derive(Serialize, Deserialize)]
struct StoredReading {
    decimal_comma: bool,
    day_first: bool,
    missing: Vec<String>,
    confidence: f64,
    examples: Vec<String>,
    counts: Vec<u64>,
    left_out: Option<StoredLeftOut>,
    skewness: Option<f64>,
    integers: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredLeftOut {
    Ignored,
    Identifier,
    FreeText,
}

#[derive(Serialize, Deserialize)]
struct StoredFinding {
    column: Option<String>,
    /// Codes that this build does not know are left out.
    code: String,
    warning: bool,
    detail: String,
    action: String,
}

/// Datasets that were stored before several targets were possible have one index here.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredTargets {
    Many(Vec<usize>),
    One(usize),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredTask {
    Regression,
    Classification,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredKind {
    Numeric,
    Boolean,
    Categorical,
    Date,
    Datetime,
    Text,
}

impl From<&Dataset> for StoredDataset {
    fn from(dataset: &Dataset) -> Self {
        let Dataset { id, name, schema, bytes, sha256, created_at, location } = dataset.clone();
        let location = location.map(Into::into);
        Self { id, name, schema: schema.into(), bytes, sha256, created_at, location }
    }
}

impl From<StoredDataset> for Dataset {
    fn from(stored: StoredDataset) -> Self {
        let StoredDataset { id, name, schema, bytes, sha256, created_at, location } = stored;
        let location = location.map(Into::into);
        Self { id, name, schema: schema.into(), bytes, sha256, created_at, location }
    }
}

impl From<Location> for StoredLocation {
    fn from(location: Location) -> Self {
        let Location { uri, files, ignored, kept_rows } = location;
        Self { uri, files, ignored, kept_rows }
    }
}

impl From<StoredLocation> for Location {
    fn from(stored: StoredLocation) -> Self {
        let StoredLocation { uri, files, ignored, kept_rows } = stored;
        Self { uri, files, ignored, kept_rows }
    }
}

impl From<Schema> for StoredSchema {
    fn from(schema: Schema) -> Self {
        let Schema { columns, targets, task, row_count, findings } = schema;
        let task = match task {
            Task::Regression => StoredTask::Regression,
            Task::Classification => StoredTask::Classification,
        };
        let columns = columns.into_iter().map(Into::into).collect();
        let findings = findings.into_iter().map(Into::into).collect();
        Self { columns, targets: StoredTargets::Many(targets), task, row_count, findings }
    }
}

impl From<StoredSchema> for Schema {
    fn from(stored: StoredSchema) -> Self {
        let StoredSchema { columns, targets, task, row_count, findings } = stored;
        let targets = match targets {
            StoredTargets::Many(targets) => targets,
            StoredTargets::One(target) => vec![target],
        };
        let task = match task {
            StoredTask::Regression => Task::Regression,
            StoredTask::Classification => Task::Classification,
        };
        let findings = findings.into_iter().filter_map(StoredFinding::read).collect();
        Self { columns: columns.into_iter().map(Into::into).collect(), targets, task, row_count, findings }
    }
}

impl From<Column> for StoredColumn {
    fn from(column: Column) -> Self {
        let Column { name, kind, levels, missing, distinct, distinct_is_lower_bound, min, max, mean, std, reading } =
            column;
        let reading = (reading != ColumnReading::default()).then(|| reading.into());
        let kind = match kind {
            ColumnKind::Numeric => StoredKind::Numeric,
            ColumnKind::Boolean => StoredKind::Boolean,
            ColumnKind::Categorical => StoredKind::Categorical,
            ColumnKind::Date => StoredKind::Date,
            ColumnKind::Datetime => StoredKind::Datetime,
            ColumnKind::Text => StoredKind::Text,
        };
        Self { name, kind, levels, missing, distinct, distinct_is_lower_bound, min, max, mean, std, reading }
    }
}

impl From<StoredColumn> for Column {
    fn from(stored: StoredColumn) -> Self {
        let StoredColumn {
            name,
            kind,
            levels,
            missing,
            distinct,
            distinct_is_lower_bound,
            min,
            max,
            mean,
            std,
            reading,
        } = stored;
        let reading = reading.map_or_else(ColumnReading::default, Into::into);
        let kind = match kind {
            StoredKind::Numeric => ColumnKind::Numeric,
            StoredKind::Boolean => ColumnKind::Boolean,
            StoredKind::Categorical => ColumnKind::Categorical,
            StoredKind::Date => ColumnKind::Date,
            StoredKind::Datetime => ColumnKind::Datetime,
            StoredKind::Text => ColumnKind::Text,
        };
        Self { name, kind, levels, missing, distinct, distinct_is_lower_bound, min, max, mean, std, reading }
    }
}

impl From<ColumnReading> for StoredReading {
    fn from(reading: ColumnReading) -> Self {
        let ColumnReading { notation, confidence, examples, counts, left_out, skewness, integers } = reading;
        let Notation { decimal, order, missing } = notation;
        let left_out = left_out.map(|reason| match reason {
            LeftOut::Ignored => StoredLeftOut::Ignored,
            LeftOut::Identifier => StoredLeftOut::Identifier,
            LeftOut::FreeText => StoredLeftOut::FreeText,
        });
        let (decimal_comma, day_first) = (decimal == DecimalMark::Comma, order == DateOrder::DayFirst);
        Self { decimal_comma, day_first, missing, confidence, examples, counts, left_out, skewness, integers }
    }
}

impl From<StoredReading> for ColumnReading {
    fn from(stored: StoredReading) -> Self {
        let StoredReading {
            decimal_comma,
            day_first,
            missing,
            confidence,
            examples,
            counts,
            left_out,
            skewness,
            integers,
        } = stored;
        let left_out = left_out.map(|reason| match reason {
            StoredLeftOut::Ignored => LeftOut::Ignored,
            StoredLeftOut::Identifier => LeftOut::Identifier,
            StoredLeftOut::FreeText => LeftOut::FreeText,
        });
        let notation = Notation {
            decimal: if decimal_comma { DecimalMark::Comma } else { DecimalMark::Point },
            order: if day_first { DateOrder::DayFirst } else { DateOrder::MonthFirst },
            missing,
        };
        Self { notation, confidence, examples, counts, left_out, skewness, integers }
    }
}

impl From<Finding> for StoredFinding {
    fn from(finding: Finding) -> Self {
        let Finding { column, code, severity, detail, action } = finding;
        let warning = match severity {
            Severity::Note => false,
            Severity::Warning => true,
        };
        Self { column, code: code.name().to_owned(), warning, detail, action }
    }
}

impl StoredFinding {
    fn read(self) -> Option<Finding> {
        let Self { column, code, warning, detail, action } = self;
        let severity = if warning { Severity::Warning } else { Severity::Note };
        Some(Finding { column, code: FindingCode::named(&code)?, severity, detail, action })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that releases so far have written, and what one before several targets wrote.
    #[test]
    fn stored_text_stays_the_same_and_old_text_is_read() {
        let text = r#"{"columns":[{"name":"y","kind":"boolean","levels":[],"missing":1,"distinct":2,"distinct_is_lower_bound":false,"min":0.0,"max":1.0,"mean":0.25,"std":null}],"targets":[0],"task":"classification","row_count":5}"#;
        let schema: Schema = serde_json::from_str::<StoredSchema>(text).unwrap().into();
        assert_eq!(serde_json::to_string(&StoredSchema::from(schema.clone())).unwrap(), text);
        let old = text.replace(r#""targets":[0]"#, r#""target":0"#);
        assert_eq!(Schema::from(serde_json::from_str::<StoredSchema>(&old).unwrap()), schema);
    }
}
