//! Columns, their encoding and scaling.

use super::{Numbers, borrowed, converted, owned};
use crate::dataset::{ColumnKind, Encoding, InputColumn, Scaling};
use crate::model::{InputPipeline, MissingRule};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredInputs<'a> {
    #[serde(borrow)]
    columns: Vec<StoredColumn<'a>>,
    fill: Numbers<'a>,
    offset: Numbers<'a>,
    factor: Numbers<'a>,
}

#[derive(Serialize, Deserialize)]
struct StoredColumn<'a> {
    name: &'a str,
    kind: StoredColumnKind,
    #[serde(borrow)]
    levels: Vec<&'a str>,
}

#[derive(Serialize, Deserialize)]
enum StoredColumnKind {
    Numeric,
    Boolean,
    Categorical,
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) enum StoredMissingRule {
    Mean,
    Refuse,
}

impl<'a> From<&'a InputPipeline> for StoredInputs<'a> {
    fn from(inputs: &'a InputPipeline) -> Self {
        let Scaling { fill, offset, factor } = &inputs.scaling;
        Self {
            columns: converted(&inputs.encoding.columns),
            fill: fill.into(),
            offset: offset.into(),
            factor: factor.into(),
        }
    }
}

impl From<StoredInputs<'_>> for InputPipeline {
    fn from(stored: StoredInputs) -> Self {
        Self {
            encoding: Encoding { columns: converted(stored.columns) },
            scaling: Scaling {
                fill: stored.fill.into_owned(),
                offset: stored.offset.into_owned(),
                factor: stored.factor.into_owned(),
            },
        }
    }
}

impl<'a> From<&'a InputColumn> for StoredColumn<'a> {
    fn from(column: &'a InputColumn) -> Self {
        let kind = match column.kind {
            ColumnKind::Numeric => StoredColumnKind::Numeric,
            ColumnKind::Boolean => StoredColumnKind::Boolean,
            ColumnKind::Categorical => StoredColumnKind::Categorical,
        };
        Self { name: &column.name, kind, levels: borrowed(&column.levels) }
    }
}

impl From<StoredColumn<'_>> for InputColumn {
    fn from(stored: StoredColumn) -> Self {
        let kind = match stored.kind {
            StoredColumnKind::Numeric => ColumnKind::Numeric,
            StoredColumnKind::Boolean => ColumnKind::Boolean,
            StoredColumnKind::Categorical => ColumnKind::Categorical,
        };
        Self { name: stored.name.to_owned(), kind, levels: owned(stored.levels) }
    }
}

impl From<MissingRule> for StoredMissingRule {
    fn from(rule: MissingRule) -> Self {
        match rule {
            MissingRule::Mean => Self::Mean,
            MissingRule::Refuse => Self::Refuse,
        }
    }
}

impl From<StoredMissingRule> for MissingRule {
    fn from(stored: StoredMissingRule) -> Self {
        match stored {
            StoredMissingRule::Mean => Self::Mean,
            StoredMissingRule::Refuse => Self::Refuse,
        }
    }
}
