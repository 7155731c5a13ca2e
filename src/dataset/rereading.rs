//! A stored dataset read in another way: other targets, other kinds, other columns left out.
//!
//! Tables keep what cells were read as and not how they were written, so a column can change between numbers and levels,
//! and cells that were not kept cannot come back.

use super::columns::{StoredRows, intents, make_schema, profile};
use super::store::identity;
use super::{
    Column, ColumnKind, ColumnOptions, ContentEncoding, CsvOptions, Dataset, DatasetError, DatasetStore, FindingCode,
    Ingested, LeftOut, Schema, Task, UploadFormat, UploadLimits, UploadOptions, table,
};
use crate::storage::database::now;
use std::sync::PoisonError;

/// What is to change; columns that are not named stay what they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaChange {
    /// The new target, or several with commas between.
    pub target: Option<String>,
    /// What is to be predicted.
    pub task: Option<Task>,
    /// Columns that become numbers, and inputs again if they were left out.
    pub numeric: Vec<String>,
    /// Columns that become levels, and inputs again.
    pub categorical: Vec<String>,
    /// Columns that become dates, and inputs again.
    pub datetime: Vec<String>,
    /// Columns that are left out from now on.
    pub ignore: Vec<String>,
}

impl DatasetStore {
    /// Makes a dataset of the same rows with other roles. It has an id of its own and takes over the name; the old one
    /// stays as it is, and so do models that were trained on it.
    pub fn reread(
        &self,
        id_or_name: &str,
        change: &SchemaChange,
        limits: UploadLimits,
    ) -> Result<Ingested, DatasetError> {
        let old = self.find(id_or_name)?;
        let options = merged(&old.schema, change)?;
        let stored = self.open_table(&old)?;
        let mut source = StoredRows::new(&stored, &old.schema);
        let names: Vec<String> = old.schema.columns.iter().map(|column| column.name.clone()).collect();
        let intents = intents(&names, &options)?;
        let profiled = profile(&mut source, limits.levels, &options.columns.notation(), &intents)?;
        let mut schema = make_schema(&names, profiled, &intents, &options).map_err(DatasetError::in_rows)?;
        keep_what_was_read(&mut schema, &old.schema);
        if schema == old.schema {
            return Ok(Ingested::Known(old));
        }
        let id = identity(&old.id, UploadFormat::Csv, options.csv, &options);
        let named = old.name != old.id;
        let name = if named { old.name.clone() } else { id.clone() };
        let dataset = Dataset { id, name, schema, created_at: now(), ..old.clone() };
        let mut file = self.directory.temporary_file()?;
        let mut plain = dataset.clone();
        plain.schema.columns.iter_mut().for_each(|column| column.reading.notation = super::Notation::default());
        table::write_as(&mut StoredRows::new(&stored, &old.schema), (&dataset, &plain.schema), &mut file)?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.database.expect_files()?;
        file.publish(&self.table_path(&dataset.id))?;
        let names: Vec<String> = if named { vec![dataset.name.clone()] } else { Vec::new() };
        let is_new = self.insert(&dataset, &names)?;
        self.write_card(&dataset.id);
        self.write_card(&old.id);
        if is_new { Ok(Ingested::New(dataset)) } else { self.find(&dataset.id).map(Ingested::Known) }
    }
}

/// The options that would read the stored cells as they are, but for the change.
fn merged(schema: &Schema, change: &SchemaChange) -> Result<UploadOptions, DatasetError> {
    let named = |name: &String| {
        [&change.numeric, &change.categorical, &change.datetime, &change.ignore].iter().any(|list| list.contains(name))
    };
    let mut numeric = change.numeric.clone();
    let mut columns = ColumnOptions {
        categorical: change.categorical.clone(),
        datetime: change.datetime.clone(),
        ignore: change.ignore.clone(),
        ..ColumnOptions::default()
    };
    for column in &schema.columns {
        let name = || column.name.clone();
        match (column.kind, column.reading.left_out) {
            (ColumnKind::Text, _) if named(&column.name) && !change.ignore.contains(&column.name) => {
                return Err(not_kept(column));
            }
            _ if named(&column.name) => {}
            (ColumnKind::Text, _) | (_, Some(LeftOut::Ignored)) => columns.ignore.push(name()),
            // An identifier is found again, and truth values too.
            (_, Some(LeftOut::Identifier | LeftOut::FreeText)) | (ColumnKind::Boolean, None) => {}
            (ColumnKind::Numeric, None) => numeric.push(name()),
            (ColumnKind::Categorical, None) => columns.categorical.push(name()),
            (ColumnKind::Date | ColumnKind::Datetime, None) => columns.datetime.push(name()),
        }
    }
    let targets: Vec<&str> = schema.target_columns().map(|column| column.name.as_str()).collect();
    Ok(UploadOptions {
        name: None,
        target: Some(change.target.clone().unwrap_or_else(|| targets.join(","))),
        task: change.task,
        numeric,
        columns,
        format: None,
        file_name: None,
        csv: CsvOptions { delimiter: b',', header: None },
        encoding: ContentEncoding::Identity,
    })
}

fn not_kept(column: &Column) -> DatasetError {
    let name = &column.name;
    let detail = format!(
        "the texts of this column were not kept, because they name rows or are sentences; upload the table again with \
         categorical={name}"
    );
    DatasetError::column(name, detail)
}

/// What only the cells as they were written tell: how they are to be read in predictions, and what was found in them.
fn keep_what_was_read(schema: &mut Schema, old: &Schema) {
    for (column, before) in schema.columns.iter_mut().zip(&old.columns) {
        if before.kind == ColumnKind::Text {
            *column = before.clone();
            continue;
        }
        column.reading.notation = before.reading.notation.clone();
        column.reading.examples.clone_from(&before.reading.examples);
        if column.kind == before.kind {
            column.reading.confidence = before.reading.confidence;
        }
    }
    let is_of_cells = |code: FindingCode| {
        matches!(
            code,
            FindingCode::StrayCells
                | FindingCode::MissingWords
                | FindingCode::MixedUnits
                | FindingCode::DateOrder
                | FindingCode::LeadingZeros
                | FindingCode::LongIntegers
                | FindingCode::MissingWordLevel
        )
    };
    let is_unread = |name: &Option<String>| {
        old.columns.iter().any(|column| column.kind == ColumnKind::Text && Some(&column.name) == name.as_ref())
    };
    let kept = old.findings.iter().filter(|finding| is_of_cells(finding.code) || is_unread(&finding.column));
    let kept: Vec<_> = kept.cloned().collect();
    schema.findings.retain(|finding| !is_of_cells(finding.code) && !is_unread(&finding.column));
    schema.findings.splice(0..0, kept);
}
