//! A folder of Parquet files that are one table. Every file is a unit: no partition cuts it.

use super::column_cells::is_boolean;
use super::file_rows::FileOfTable;
use super::table_files::{StatedColumn, StatedFile, TableFiles};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Files of the same columns, in the order of their names.
#[derive(Debug, Clone)]
pub struct TableFolder {
    /// Where they are, as an absolute path.
    pub root: PathBuf,
    /// At least one.
    pub files: Vec<FileOfTable>,
    /// What they say about themselves.
    pub table: TableFiles,
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
        let stated = files.iter().map(stated).collect::<Result<Vec<_>, _>>().map_err(|why| at(&why))?;
        let table = TableFiles::of(&stated, ignored).map_err(|why| at(&why))?;
        Ok(Self { root, files, table })
    }
}

/// What a file says in its footer.
fn stated(file: &FileOfTable) -> Result<StatedFile, String> {
    let refuse = |reason: &dyn std::fmt::Display| format!("file '{}': {reason}", file.name);
    let opened = File::open(&file.path).map_err(|error| refuse(&error))?;
    let bytes = opened.metadata().map_err(|error| refuse(&error))?.len();
    let builder = ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|error| refuse(&error))?;
    let rows = builder.metadata().file_metadata().num_rows();
    let rows = u64::try_from(rows).map_err(|_| refuse(&format!("it states {rows} rows")))?;
    let fields = builder.schema().fields().iter();
    let columns = fields
        .map(|field| StatedColumn {
            name: field.name().clone(),
            kind: field.data_type().to_string(),
            boolean: is_boolean(field.data_type()),
        })
        .collect();
    Ok(StatedFile { name: file.name.clone(), bytes, rows, columns })
}
