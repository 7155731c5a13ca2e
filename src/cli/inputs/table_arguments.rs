//! How a command reads its table: the parameters of an upload, as flags.

use super::stem;
use crate::app::table_file::TableFile;
use crate::cli::own_program;
use crate::dataset::{
    ColumnOptions, ContentEncoding, CsvOptions, DatasetError, DecimalMark, Task, UploadFormat, UploadOptions,
    parse_delimiter,
};
use clap::Args;
use std::fs::File;
use std::path::Path;

/// Target, task and columns.
#[derive(Debug, Args)]
pub struct TableArguments {
    /// Column to predict, or several numeric columns separated by commas. The default is the last one.
    #[arg(long)]
    target: Option<String>,

    /// What is predicted: regression or classification. The default follows from the cells of the target.
    #[arg(long, value_parser = parse_task)]
    task: Option<Task>,

    /// Columns that must be numeric, separated by commas; the first cell that is not a number is an error.
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    numeric: Vec<String>,

    /// Columns whose cells are levels, whatever they look like.
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    categorical: Vec<String>,

    /// Columns of dates; eight digits such as 20260331 are dates there.
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    datetime: Vec<String>,

    /// Columns to leave out.
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    ignore: Vec<String>,

    /// Words that stand for a missing value, beside the usual ones, in any case.
    #[arg(long, value_delimiter = ',', value_name = "WORDS")]
    missing: Vec<String>,

    /// What comes before the fraction of a number: point or comma.
    #[arg(long, value_parser = parse_decimal, default_value = "point")]
    decimal: DecimalMark,

    /// Whether 03/04/2026 is 3 April: true or false. The default follows from the column.
    #[arg(long)]
    day_first: Option<bool>,

    /// Delimiter of CSV cells: a name (comma, semicolon, tab, pipe, space) or one character. The default is a comma, in .tsv
    /// files a tab.
    #[arg(long)]
    delimiter: Option<String>,

    /// The CSV has no header line.
    #[arg(long)]
    no_header: bool,
}

impl TableArguments {
    /// Targets and columns to leave out of a folder of files, whose cells have types of their own. Refuses everything that says
    /// how texts are read.
    pub(in crate::cli) fn of_files(&self) -> Result<(Option<&str>, &[String]), String> {
        let given = [
            ("--task classification", self.task == Some(Task::Classification)),
            ("--categorical", !self.categorical.is_empty()),
            ("--datetime", !self.datetime.is_empty()),
            ("--missing", !self.missing.is_empty()),
            ("--decimal comma", self.decimal == DecimalMark::Comma),
            ("--day-first", self.day_first.is_some()),
            ("--delimiter", self.delimiter.is_some()),
            ("--no-header", self.no_header),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok((self.target.as_deref(), &self.ignore)),
            Some((name, _)) => Err(format!("{name} is not possible for a folder of Parquet files; remove it")),
        }
    }

    /// Reads a file as the service reads an upload.
    pub(in crate::cli) fn read(&self, path: &Path) -> Result<TableFile, String> {
        let at = |reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
        let delimiter = self.delimiter.as_deref().map(parse_delimiter).transpose();
        let delimiter = delimiter.map_err(|error: DatasetError| error.to_string())?;
        let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let options = UploadOptions {
            name: Some(stem(path)),
            target: self.target.clone(),
            task: self.task,
            numeric: self.numeric.clone(),
            columns: ColumnOptions {
                categorical: self.categorical.clone(),
                datetime: self.datetime.clone(),
                ignore: self.ignore.clone(),
                missing: self.missing.clone(),
                decimal: self.decimal,
                day_first: self.day_first,
            },
            format: delimiter.map(|_| UploadFormat::Csv),
            file_name,
            csv: CsvOptions { delimiter: delimiter.unwrap_or(b','), header: self.no_header.then_some(false) },
            encoding: ContentEncoding::Identity,
        };
        let source = File::open(path).map_err(|error| at(&error))?;
        TableFile::read(source, &options, Some(own_program())).map_err(|error| at(&error))
    }
}

fn parse_task(text: &str) -> Result<Task, String> {
    match text {
        "regression" => Ok(Task::Regression),
        "classification" => Ok(Task::Classification),
        _ => Err("must be regression or classification".into()),
    }
}

fn parse_decimal(text: &str) -> Result<DecimalMark, String> {
    match text {
        "point" => Ok(DecimalMark::Point),
        "comma" => Ok(DecimalMark::Comma),
        _ => Err("must be point or comma".into()),
    }
}
