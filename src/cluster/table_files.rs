//! What the files of a table say about themselves, whoever reads them: the columns that all of them have, and an id.

use crate::training::FileColumn;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// A column as one file states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatedColumn {
    pub(super) name: String,
    /// The type in the words of the reader.
    pub(super) kind: String,
    /// Whether it holds truth values instead of numbers; none if no pass can read it.
    pub(super) boolean: Option<bool>,
}

/// What one file states.
#[derive(Debug, Clone)]
pub(super) struct StatedFile {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) rows: u64,
    pub(super) columns: Vec<StatedColumn>,
}

/// Files of the same columns that are one table.
#[derive(Debug, Clone)]
pub struct TableFiles {
    /// How many, at least one.
    pub count: usize,
    /// The columns that passes read.
    pub columns: Vec<FileColumn>,
    /// Bytes of the largest file.
    pub largest_file: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Rows of all files, as these state them.
    pub rows: u64,
    /// SHA-256 of names, sizes and row counts.
    pub sha256: String,
    /// Of names, sizes and row counts.
    pub id: String,
}

impl TableFiles {
    /// Compares the columns of all files, which are in the order of their names. Columns in `ignored` are left out; the others
    /// must be numbers or truth values.
    pub(super) fn of(files: &[StatedFile], ignored: &[String]) -> Result<Self, String> {
        let Some(first) = files.first() else { return Err("there is no file that ends with .parquet".into()) };
        let mut hash = Sha256::new();
        let (mut largest_file, mut all_bytes, mut all_rows) = (0, 0, 0_u64);
        for StatedFile { name, bytes, rows, columns } in files {
            hash.update(format!("{}:{name}:{bytes}:{rows};", name.len()));
            largest_file = largest_file.max(*bytes);
            all_bytes += bytes;
            all_rows = all_rows.saturating_add(*rows);
            if let Some(what) = difference(&first.columns, columns) {
                return Err(format!("file '{name}': its columns differ from those of '{}': {what}", first.name));
            }
        }
        let mut sha256 = String::new();
        for byte in hash.finalize() {
            let _ = write!(sha256, "{byte:02x}"); // writing to a text cannot fail
        }
        let id = format!("files-{}", &sha256[..16]);
        let columns = columns(&first.columns, ignored)?;
        Ok(Self { count: files.len(), columns, largest_file, bytes: all_bytes, rows: all_rows, sha256, id })
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

fn columns(stated: &[StatedColumn], ignored: &[String]) -> Result<Vec<FileColumn>, String> {
    if let Some(unknown) = ignored.iter().find(|name| !stated.iter().any(|column| column.name == **name)) {
        return Err(format!("--ignore names column '{unknown}', which the files do not have"));
    }
    let mut columns: Vec<FileColumn> = Vec::new();
    for StatedColumn { name, kind, boolean } in stated.iter().filter(|column| !ignored.contains(&column.name)) {
        let Some(boolean) = *boolean else {
            return Err(format!(
                "column '{name}' holds values of type {kind}; a table in files can have numbers and truth values only: \
                 leave it out with --ignore {name}"
            ));
        };
        if columns.iter().any(|column| column.name == *name) {
            return Err(format!("two columns are called '{name}'"));
        }
        columns.push(FileColumn { name: name.clone(), boolean });
    }
    Ok(columns)
}

/// What is different between the columns of two files, if something is.
fn difference(one: &[StatedColumn], other: &[StatedColumn]) -> Option<String> {
    let named = |columns: &[StatedColumn], name: &str| columns.iter().find(|column| column.name == name).cloned();
    for StatedColumn { name, kind, .. } in one {
        match named(other, name) {
            None => return Some(format!("it has no column '{name}'")),
            Some(column) if column.kind != *kind => {
                return Some(format!("column '{name}' holds {} instead of {kind}", column.kind));
            }
            Some(_) => {}
        }
    }
    let more = other.iter().find(|column| named(one, &column.name).is_none());
    more.map(|column| format!("it has a column '{}' more", column.name))
}
