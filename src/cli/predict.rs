//! Predict the rows of a file with a model file, without a service: the same formats, the same numbers.

use super::progress::CountedFile;
use super::{own_program, written};
use crate::dataset::{ColumnarFormat, ContentEncoding, CsvOptions, DatasetError, parse_delimiter};
use crate::model::{Predictor, read_artifact};
use crate::serving::{
    Answer, AnswerWriter, Format, OutputPlace, OutputRequest, Outputs, Refusal, RowFlags, RowFormat, RowReader,
    refuse_not_finite,
};
use clap::{Args, ValueEnum};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Model, rows and formats of `bochner predict`.
#[derive(Debug, Args)]
pub struct PredictArguments {
    /// Model file: an export of the service, or a file of its data directory.
    #[arg(long)]
    model: PathBuf,

    /// Rows to predict: CSV with a header, JSON lines, an Arrow stream, an Arrow file or Parquet, optionally compressed as
    /// .gz or .zst. Use - for standard input.
    data: PathBuf,

    /// Outputs, such as value,interval. The default is value, or label for a classifier.
    #[arg(long, value_delimiter = ',')]
    outputs: Option<Vec<String>>,

    /// Number of most probable labels to list.
    #[arg(long)]
    top_k: Option<u64>,

    /// Probability that an interval or label set may miss the truth, such as 0.1.
    #[arg(long)]
    delta: Option<f64>,

    /// Refuse rows with levels that training did not see, inputs outside the training range or missing cells.
    #[arg(long)]
    strict: bool,

    /// Format of the rows. The default is given by the file's extension, or CSV.
    #[arg(long)]
    from: Option<TableFormat>,

    /// Format of the predictions. The default is the format of the rows, or an Arrow stream for files.
    #[arg(long)]
    to: Option<AnswerFormat>,

    /// Delimiter of CSV cells: a name (comma, semicolon, tab, pipe, space) or one character.
    #[arg(long, default_value = "comma")]
    delimiter: String,

    /// The CSV has no header line; its columns are in the order of the model's.
    #[arg(long)]
    no_header: bool,
}

/// A format as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TableFormat {
    Csv,
    Ndjson,
    Arrow,
    ArrowFile,
    Parquet,
}

/// A format of predictions as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AnswerFormat {
    Csv,
    Ndjson,
    Arrow,
}

impl From<TableFormat> for RowFormat {
    fn from(format: TableFormat) -> Self {
        match format {
            TableFormat::Csv => Self::Streamed(Format::Csv),
            TableFormat::Ndjson => Self::Streamed(Format::Ndjson),
            TableFormat::Arrow => Self::Streamed(Format::Arrow),
            TableFormat::ArrowFile => Self::File(ColumnarFormat::ArrowFile),
            TableFormat::Parquet => Self::File(ColumnarFormat::Parquet),
        }
    }
}

impl From<AnswerFormat> for Format {
    fn from(format: AnswerFormat) -> Self {
        match format {
            AnswerFormat::Csv => Self::Csv,
            AnswerFormat::Ndjson => Self::Ndjson,
            AnswerFormat::Arrow => Self::Arrow,
        }
    }
}

/// Predicts onto standard output, a block of rows at a time.
pub(super) fn predict(arguments: &PredictArguments) -> Result<(), String> {
    let file = File::open(&arguments.model).map_err(|error| at(&arguments.model, &error))?;
    let model = read_artifact(io::BufReader::new(file), u64::MAX - 1).map_err(|error| at(&arguments.model, &error))?;
    let predictor = Predictor::new(model);
    let model = predictor.model();
    let asked = OutputRequest {
        names: arguments.outputs.clone(),
        top_k: arguments.top_k,
        delta: arguments.delta,
        strict: arguments.strict,
        place: OutputPlace::Body,
    };
    let outputs = Outputs::check(&asked, model).map_err(|refusal| words(&refusal))?;

    let (format, encoding) = by_ending(&arguments.data);
    let from = RowFormat::from(arguments.from.unwrap_or(format));
    let delimiter = parse_delimiter(&arguments.delimiter).map_err(|error: DatasetError| error.to_string())?;
    let csv = CsvOptions { delimiter, header: arguments.no_header.then_some(false) };
    let source: Box<dyn Read> = if arguments.data == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(CountedFile::new(File::open(&arguments.data).map_err(|error| at(&arguments.data, &error))?))
    };
    let unreadable = |error: io::Error| at(&arguments.data, &encoding.unreadable(&error));
    let source = encoding.decoder(source).map_err(unreadable)?;
    let refused = |refusal: Refusal| at(&arguments.data, &words(&refusal));
    let reader = match from {
        RowFormat::Streamed(format) => RowReader::open(format, source, csv, model),
        RowFormat::File(format) => {
            let file = spooled(source).map_err(unreadable)?;
            RowReader::open_file(file, format, Some(&own_program()), model).map(Some)
        }
    };
    let Some(mut reader) = reader.map_err(refused)? else {
        return Err("this format cannot be read in blocks".into());
    };
    let target = BufWriter::new(io::stdout().lock());
    let mut answers = AnswerWriter::begin(arguments.to.map_or(from.answer(), Format::from), target, "", 0);
    while let (Ok(writer), Some(mut block)) = (&mut answers, reader.next_block().map_err(refused)?) {
        let flags = RowFlags::check(&outputs, model, &block, "/rows").map_err(refused)?;
        let locations = std::mem::take(&mut block.locations);
        let rows: Vec<&[f64]> = block.rows().collect();
        let predictions = predictor.compute(&rows, outputs.extras());
        refuse_not_finite(&predictions, &locations, "/rows").map_err(refused)?;
        let answer = Answer { outputs: &outputs, model, predictions: &predictions, flags: flags.as_ref() };
        let outcome = writer.write(answer);
        answers = answers.and_then(|writer| outcome.map(|()| writer));
    }
    if answers.as_ref().is_ok_and(|writer| writer.rows == 0) {
        return Err(at(&arguments.data, &"the table has no rows; add at least one"));
    }
    written("the predictions", answers.and_then(AnswerWriter::finish).and_then(|mut target| target.flush()))
}

/// The rows as a file of their own, decompressed: such formats are read from their end.
fn spooled(mut source: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut source, &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// Format and compression by the extension of a file, such as `.csv.gz`.
fn by_ending(path: &Path) -> (TableFormat, ContentEncoding) {
    let ending = |path: &Path| path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_owned();
    let (path, encoding) = match ending(path).as_str() {
        "gz" => (path.with_extension(""), ContentEncoding::Gzip),
        "zst" => (path.with_extension(""), ContentEncoding::Zstd),
        _ => (path.to_owned(), ContentEncoding::Identity),
    };
    let format = match ending(&path).as_str() {
        "ndjson" | "jsonl" => TableFormat::Ndjson,
        "arrow" | "arrows" => TableFormat::Arrow,
        "feather" | "ipc" => TableFormat::ArrowFile,
        "parquet" | "pq" => TableFormat::Parquet,
        _ => TableFormat::Csv,
    };
    (format, encoding)
}

fn at(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// All problems of a refusal in one line.
fn words(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Malformed { detail, .. } => detail.clone(),
        Refusal::Invalid(problems) => {
            let problems = problems.iter().map(|problem| match problem.pointer.as_str() {
                "" => problem.detail.clone(),
                pointer => format!("{pointer}: {}", problem.detail),
            });
            problems.collect::<Vec<_>>().join("; ")
        }
        Refusal::TooLarge { limit } => format!("larger than {limit} bytes"),
    }
}
