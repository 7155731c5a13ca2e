//! The child process: reads a file from standard input and writes its table as CSV to standard output.

use super::cells::{CellText, cell_text, check_type};
use super::{ColumnarFormat, ReadFailure};
use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};

/// Cells of one batch of a Parquet file.
const BATCH_CELLS: usize = 1 << 16;

/// Limits this process, once and for all: so many more bytes of memory than it has now, so many seconds of a processor, no
/// files, no core dump.
pub fn restrict(memory: u64, seconds: u64) -> io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let taken = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    let (Some(mapped), Some(data)) = (taken("VmSize:"), taken("VmData:")) else {
        return Err(io::Error::other("the system does not say how much memory this process has"));
    };
    // Memory that the allocator maps in advance counts as data only when it is used.
    for (resource, limit) in [
        (Resource::As, (mapped << 10) + (memory << 1)),
        (Resource::Data, (data << 10) + memory),
        (Resource::Cpu, seconds),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
    ] {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}

/// Writes the table in `source` to `target` as CSV.
pub fn read_columns(format: ColumnarFormat, source: File, target: impl Write) -> Result<(), ReadFailure> {
    let mut writer = CsvWriter { target: BufWriter::with_capacity(1 << 16, target), line: String::new() };
    let refuse = |error: &dyn std::fmt::Display| refused(format, &error.to_string());
    match format {
        ColumnarFormat::Parquet => {
            let builder = ParquetRecordBatchReaderBuilder::try_new(source).map_err(|error| refuse(&error))?;
            let schema = builder.schema().clone();
            writer.header(&schema)?;
            let rows = (BATCH_CELLS / schema.fields().len().max(1)).clamp(1, 4096);
            let reader = builder.with_batch_size(rows).build().map_err(|error| refuse(&error))?;
            writer.batches(reader, &refuse)?;
        }
        ColumnarFormat::ArrowFile => {
            let reader = FileReader::try_new(BufReader::new(source), None).map_err(|error| refuse(&error))?;
            writer.header(&reader.schema())?;
            writer.batches(reader, &refuse)?;
        }
        ColumnarFormat::ArrowStream => {
            let reader = StreamReader::try_new(BufReader::new(source), None).map_err(|error| refuse(&error))?;
            writer.header(&reader.schema())?;
            writer.batches(reader, &refuse)?;
        }
    }
    writer.target.flush().map_err(|_| ReadFailure::Unread)
}

fn refused(format: ColumnarFormat, words: &str) -> ReadFailure {
    // The parsers' own words name compile-time features, which the sender cannot change.
    let feature = ["lz4", "zstd", "brotli", "LZO", "lzo"].into_iter().find(|codec| words.contains(codec));
    let detail = match (format, feature) {
        (ColumnarFormat::ArrowFile | ColumnarFormat::ArrowStream, Some(_)) => {
            "compressed buffers are not supported; write the file without compression, or compress the whole body"
                .into()
        }
        (ColumnarFormat::Parquet, Some(codec)) if words.contains("feature") || words.contains("Disabled") => {
            format!("the compression {codec} is not supported; write the file with snappy, gzip, lz4 or zstd")
        }
        _ => format!("not a valid {}: {words}", format.title()),
    };
    ReadFailure::Refused(detail)
}

struct CsvWriter<W: Write> {
    target: BufWriter<W>,
    line: String,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the names of the columns, all of which must be of a type that has cells.
    fn header(&mut self, schema: &Schema) -> Result<(), ReadFailure> {
        for (index, field) in schema.fields().iter().enumerate() {
            check_type(field.data_type())
                .map_err(|held| ReadFailure::Refused(format!("column '{}' holds {held}", field.name())))?;
            self.begin_cell(index);
            quote(&mut self.line, field.name());
        }
        self.end_line()
    }

    fn batches(
        &mut self,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
        refuse: &dyn Fn(&dyn std::fmt::Display) -> ReadFailure,
    ) -> Result<(), ReadFailure> {
        for batch in batches {
            self.rows(&batch.map_err(|error| refuse(&error))?)?;
        }
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), ReadFailure> {
        let texts = batch.columns().iter().map(|array| cell_text(array.as_ref()));
        let texts: Vec<CellText> = texts.collect::<Result<_, _>>()?;
        let mut cell = String::new();
        for row in 0..batch.num_rows() {
            for (index, (array, text)) in batch.columns().iter().zip(&texts).enumerate() {
                self.begin_cell(index);
                cell.clear();
                if !array.is_null(row) {
                    text(row, &mut cell)?;
                }
                quote(&mut self.line, &cell);
            }
            self.end_line()?;
        }
        Ok(())
    }

    fn begin_cell(&mut self, index: usize) {
        if index > 0 {
            self.line.push(',');
        }
    }

    fn end_line(&mut self) -> Result<(), ReadFailure> {
        if self.line.is_empty() {
            self.line.push_str("\"\""); // an empty line is no row
        }
        self.line.push('\n');
        self.target.write_all(self.line.as_bytes()).map_err(|_| ReadFailure::Unread)?;
        self.line.clear();
        Ok(())
    }
}

fn quote(line: &mut String, cell: &str) {
    if !cell.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        return line.push_str(cell);
    }
    line.push('"');
    for (index, part) in cell.split('"').enumerate() {
        if index > 0 {
            line.push_str("\"\"");
        }
        line.push_str(part);
    }
    line.push('"');
}
