//! A folder of Parquet files that are one table. Every file is a unit: no partition cuts it.

use super::column_cells::is_boolean;
use super::file_rows::FileOfTable;
use crate::training::FileColumn;
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Files of the same columns, in the order of their names.
#[derive(Debug, Clone)]
pub struct TableFolder {
    /// Where they are, as an absolute path.
    pub root: PathBuf,
    /// At least one.
    pub files: Vec<FileOfTable>,
    /// The columns that passes read.
    pub columns: Vec<FileColumn>,
    /// Bytes of the largest file.
    pub largest_file: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// SHA-256 of names, sizes and row counts.
    pub sha256: String,
    /// Of names, sizes and row counts.
    pub id: String,
}

impl TableFolder {
    /// Reads the schemas of all files. Columns in `ignored` are left out; the others must be numbers or truth values.
    pub fn open(folder: &Path, ignored: &[String]) -> Result<Self, String> {
        let at = |reason: &dyn std::fmt::Display| format!("{}: {reason}", folder.display());
        let root = folder.canonicalize().map_err(|error| at(&error))?;
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&root).map_err(|error| at(&error))? {
            let path = entry.map_err(|error| at(&error))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()).map(str::to_owned) else {
                return Err(at(&"a name in the folder is not UTF-8; rename the file"));
            };
            let is_parquet = path.extension().is_some_and(|ending| ending == "parquet");
            if name.starts_with(['.', '_']) || (path.is_file() && !is_parquet) {
                continue; // as Spark does
            }
            if path.is_dir() {
                return Err(at(&format!("'{name}' is a folder; only files that are directly in the folder are read")));
            }
            files.push(FileOfTable { name, path });
        }
        files.sort_by(|one, other| one.name.cmp(&other.name));
        if files.is_empty() {
            return Err(at(&"there is no file that ends with .parquet"));
        }
        let mut hash = Sha256::new();
        let mut first: Option<(String, SchemaRef)> = None;
        let (mut largest_file, mut all_bytes) = (0, 0);
        for FileOfTable { name, path } in &files {
            let refuse = |reason: &dyn std::fmt::Display| at(&format!("file '{name}': {reason}"));
            let opened = File::open(path).map_err(|error| refuse(&error))?;
            let bytes = opened.metadata().map_err(|error| refuse(&error))?.len();
            let builder = ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|error| refuse(&error))?;
            let rows = builder.metadata().file_metadata().num_rows();
            hash.update(format!("{}:{name}:{bytes}:{rows};", name.len()));
            largest_file = largest_file.max(bytes);
            all_bytes += bytes;
            match &first {
                None => first = Some((name.clone(), builder.schema().clone())),
                Some((other, schema)) => {
                    if let Some(what) = difference(schema, builder.schema()) {
                        return Err(refuse(&format!("its columns differ from those of '{other}': {what}")));
                    }
                }
            }
        }
        let columns = first.map_or(Ok(Vec::new()), |(_, schema)| columns(&schema, ignored)).map_err(|why| at(&why))?;
        let mut sha256 = String::new();
        for byte in hash.finalize() {
            let _ = write!(sha256, "{byte:02x}"); // writing to a text cannot fail
        }
        let id = format!("files-{}", &sha256[..16]);
        Ok(Self { root, files, columns, largest_file, bytes: all_bytes, sha256, id })
    }

    /// The places of targets among the columns; by default the last column.
    pub fn targets(&self, names: Option<&str>) -> Result<Vec<usize>, String> {
        let last = || self.columns.last().map(|column| column.name.clone()).unwrap_or_default();
        let names: Vec<String> = names.map_or_else(|| vec![last()], |names| names.split(',').map(Into::into).collect());
        let mut places = Vec::new();
        for name in names {
            let Some(place) = self.columns.iter().position(|column| column.name == name) else {
                return Err(format!("there is no column '{name}' to predict"));
            };
            if self.columns[place].boolean {
                return Err(format!(
                    "column '{name}' holds labels, which cannot be predicted from a table in files yet"
                ));
            }
            if !places.contains(&place) {
                places.push(place);
            }
        }
        if places.len() == self.columns.len() {
            return Err("every column is a target; at least one input is needed".into());
        }
        Ok(places)
    }
}

fn columns(schema: &SchemaRef, ignored: &[String]) -> Result<Vec<FileColumn>, String> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    if let Some(unknown) = ignored.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("--ignore names column '{unknown}', which the files do not have"));
    }
    let mut columns: Vec<FileColumn> = Vec::new();
    for field in schema.fields().iter().filter(|field| !ignored.contains(field.name())) {
        let name = field.name().clone();
        let boolean = is_boolean(field.data_type()).map_err(|held| {
            format!(
                "column '{name}' holds {held}; a table in files can have numbers and truth values only: leave it out with \
                 --ignore {name}"
            )
        })?;
        if columns.iter().any(|column| column.name == name) {
            return Err(format!("two columns are called '{name}'"));
        }
        columns.push(FileColumn { name, boolean });
    }
    Ok(columns)
}

/// What is different between two schemas, if something is.
fn difference(one: &SchemaRef, other: &SchemaRef) -> Option<String> {
    let named = |schema: &SchemaRef, name: &str| -> Option<DataType> {
        schema.fields().iter().find(|field| field.name() == name).map(|field| field.data_type().clone())
    };
    for field in one.fields() {
        match named(other, field.name()) {
            None => return Some(format!("it has no column '{}'", field.name())),
            Some(kind) if kind != *field.data_type() => {
                return Some(format!("column '{}' holds {kind} instead of {}", field.name(), field.data_type()));
            }
            Some(_) => {}
        }
    }
    other
        .fields()
        .iter()
        .find(|field| named(one, field.name()).is_none())
        .map(|field| format!("it has a column '{}' more", field.name()))
}
