//! Reads rows from Apache Arrow IPC streams and writes answers as such.

use super::BLOCK_ROWS;
use crate::dataset::Cell;
use crate::model::FittedModel;
use crate::serving::answer_columns::{AnswerColumn, Cells};
use crate::serving::flags::Warning;
use crate::serving::request_rows::{Layout, RequestRows};
use crate::serving::row_locations::RowLocations;
use crate::serving::{Answer, Refusal, RefusalCode};
use crate::telemetry::expecting_panics;
use arrow_array::builder::{ListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, PrimitiveArray, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Bytes read from the body at once.
const CHUNK: usize = 1 << 16;

/// Largest record batch in bytes. A batch is held whole; memory is taken as bytes arrive, not by what a header claims.
const LARGEST_BATCH: usize = 256 << 20;

/// Most bytes of all dictionaries of a stream.
const LARGEST_DICTIONARIES: usize = 64 << 20;

/// Reads the rows of a model from an Arrow stream, in blocks: a few bytes of a stream may stand for very many rows.
pub struct ArrowRows<'m, R> {
    source: R,
    model: &'m FittedModel,
    decoder: StreamDecoder,
    pending: Buffer,
    layout: Option<Layout>,
    /// The current batch, and how many of its rows have been read.
    current: Option<(RecordBatch, usize)>,
    /// The number of batches decoded.
    batch: usize,
    /// Bytes read since the last batch.
    taken: usize,
}

impl<'m, R: Read> ArrowRows<'m, R> {
    pub(super) fn new(source: R, model: &'m FittedModel) -> Self {
        let (decoder, pending) = (StreamDecoder::new(), Buffer::from_vec(Vec::<u8>::new()));
        Self { source, model, decoder, pending, layout: None, current: None, batch: 0, taken: 0 }
    }

    pub(super) fn next_block(&mut self) -> Result<Option<RequestRows>, Refusal> {
        loop {
            if let Some((batch, start)) = self.current.take()
                && start < batch.num_rows()
            {
                let rows = BLOCK_ROWS.min(batch.num_rows() - start);
                let mut block = self.read_rows(&batch.slice(start, rows), start)?;
                block.locations = RowLocations::Batch { number: self.batch - 1, start };
                self.current = Some((batch, start + rows));
                return Ok(Some(block));
            }
            if self.pending.is_empty() && !self.fill()? {
                self.decoder.finish().map_err(|error| malformed(&error))?;
                return if self.layout.is_some() {
                    Ok(None)
                } else {
                    Err(Refusal::malformed(RefusalCode::EmptyBody, EMPTY))
                };
            }
            let batch = self.decode()?;
            if self.layout.is_none() {
                self.layout = self.decoder.schema().map(|schema| self.find_columns(&schema)).transpose()?;
            }
            if let Some(batch) = batch {
                self.taken = 0;
                self.refuse_nulls_alone(&batch)?;
                refuse_large_dictionaries(&batch, self.batch)?;
                self.batch += 1;
                self.current = Some((batch, 0));
            }
        }
    }

    /// The next batch if all its bytes have arrived. The decoder panics on a message with offsets outside of itself;
    /// that is a malformed stream, and the decoder is not used again.
    fn decode(&mut self) -> Result<Option<RecordBatch>, Refusal> {
        let outcome = expecting_panics(|| self.decoder.decode(&mut self.pending));
        let outside = || {
            Refusal::malformed(
                RefusalCode::MalformedArrow,
                "not an Arrow stream: a message has offsets outside of itself",
            )
        };
        outcome.ok_or_else(outside)?.map_err(|error| malformed(&error))
    }

    /// Reads more bytes; false at the end.
    fn fill(&mut self) -> Result<bool, Refusal> {
        let mut chunk = vec![0; CHUNK];
        let count = self.source.read(&mut chunk);
        let count = count.map_err(|error| Refusal::malformed(RefusalCode::UnreadableBody, error.to_string()))?;
        self.taken += count;
        if self.taken > LARGEST_BATCH {
            let detail = format!("is larger than {} MiB; write smaller record batches", LARGEST_BATCH >> 20);
            return Err(Refusal::invalid(format!("/batches/{}", self.batch), detail));
        }
        chunk.truncate(count);
        self.pending = Buffer::from_vec(chunk);
        Ok(count > 0)
    }

    fn find_columns(&self, schema: &Schema) -> Result<Layout, Refusal> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        Layout::named(self.model, &names, "/schema")
    }

    /// Refuses rows of nothing but null columns: those take no bytes, so a tiny body could ask for any amount of work.
    fn refuse_nulls_alone(&self, batch: &RecordBatch) -> Result<(), Refusal> {
        let mut positions = self.layout.iter().flat_map(|layout| &layout.positions);
        if positions.any(|&position| *batch.column(position).data_type() != DataType::Null) {
            return Ok(());
        }
        Err(Refusal::invalid("/schema", "every column of the model has type null; send at least one with values"))
    }

    /// Encodes a slice of the current batch that begins at its row `start`.
    fn read_rows(&self, batch: &RecordBatch, start: usize) -> Result<RequestRows, Refusal> {
        let mut block = RequestRows::of(self.model);
        block.begin_rows(batch.num_rows());
        let positions = self.layout.iter().flat_map(|layout| &layout.positions);
        for ((column, known), &position) in self.model.inputs.encoding.columns.iter().enumerate().zip(positions) {
            let array = batch.column(position);
            let cells = cell_reader(array).ok_or_else(|| {
                let detail = format!("type {} is not supported; send numbers, booleans or strings", array.data_type());
                Refusal::invalid(crate::request::problem::pointer("/schema", &known.name), detail)
            })?;
            for row in 0..batch.num_rows() {
                let cell = if array.is_null(row) { Cell::Missing } else { cells(row) };
                block
                    .set_at(self.model, row, column, cell)
                    .map_err(|error| error.at(&format!("/batches/{}/{}", self.batch - 1, start + row), known))?;
            }
        }
        Ok(block)
    }
}

/// Refuses a stream whose dictionaries keep growing: they are kept from batch to batch.
fn refuse_large_dictionaries(batch: &RecordBatch, number: usize) -> Result<(), Refusal> {
    let values = |array: &ArrayRef| array.as_any_dictionary_opt().map(|found| found.values().get_array_memory_size());
    let bytes: usize = batch.columns().iter().filter_map(values).sum();
    if bytes <= LARGEST_DICTIONARIES {
        return Ok(());
    }
    let detail = format!("the dictionaries are larger than {} MiB; send plain strings", LARGEST_DICTIONARIES >> 20);
    Err(Refusal::invalid(format!("/batches/{number}"), detail))
}

const EMPTY: &str = "the body holds no Arrow stream";

fn malformed(error: &ArrowError) -> Refusal {
    let words = error.to_string();
    // The decoder's own words ask for a compile-time feature, which the client cannot change.
    if words.contains("lz4") || words.contains("zstd") {
        let detail = "compressed buffers are not supported; write the stream without compression, or compress the body";
        return Refusal::malformed(RefusalCode::MalformedArrow, detail);
    }
    Refusal::malformed(RefusalCode::MalformedArrow, format!("not an Arrow stream: {words}"))
}

type CellReader<'a> = Box<dyn Fn(usize) -> Cell<'a> + 'a>;

/// How to read the cells of an array; none for unsupported types.
fn cell_reader(array: &dyn Array) -> Option<CellReader<'_>> {
    Some(match array.data_type() {
        DataType::Float64 => numbers(array.as_primitive::<Float64Type>(), |number| number),
        DataType::Float32 => numbers(array.as_primitive::<Float32Type>(), f64::from),
        DataType::Int8 => numbers(array.as_primitive::<Int8Type>(), f64::from),
        DataType::Int16 => numbers(array.as_primitive::<Int16Type>(), f64::from),
        DataType::Int32 => numbers(array.as_primitive::<Int32Type>(), f64::from),
        DataType::Int64 => numbers(array.as_primitive::<Int64Type>(), |number| number as f64),
        DataType::UInt8 => numbers(array.as_primitive::<UInt8Type>(), f64::from),
        DataType::UInt16 => numbers(array.as_primitive::<UInt16Type>(), f64::from),
        DataType::UInt32 => numbers(array.as_primitive::<UInt32Type>(), f64::from),
        DataType::UInt64 => numbers(array.as_primitive::<UInt64Type>(), |number| number as f64),
        DataType::Null => Box::new(|_| Cell::Missing),
        DataType::Boolean => {
            let values = array.as_boolean();
            Box::new(|row| Cell::Boolean(values.value(row)))
        }
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            Box::new(|row| Cell::Text(values.value(row)))
        }
        DataType::LargeUtf8 => {
            let values = array.as_string::<i64>();
            Box::new(|row| Cell::Text(values.value(row)))
        }
        DataType::Utf8View => {
            let values = array.as_string_view();
            Box::new(|row| Cell::Text(values.value(row)))
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            if dictionary.values().is_empty() {
                return Some(Box::new(|_| Cell::Missing)); // every key is null
            }
            let (keys, values) = (dictionary.normalized_keys(), cell_reader(dictionary.values().as_ref())?);
            let all = dictionary.values().as_ref();
            Box::new(move |row| if all.is_null(keys[row]) { Cell::Missing } else { values(keys[row]) })
        }
        _ => return None,
    })
}

fn numbers<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, widen: fn(T::Native) -> f64) -> CellReader<'_> {
    Box::new(move |row| Cell::Number(widen(array.value(row))))
}

/// Writes answers as an Arrow stream. The stream begins with the first block, which determines the schema.
pub(super) enum ArrowWriter<W: Write> {
    New(Option<W>),
    Begun(Box<StreamWriter<W>>),
}

impl<W: Write> ArrowWriter<W> {
    pub(super) fn new(target: W) -> Self {
        Self::New(Some(target))
    }

    pub(super) fn write(&mut self, answer: Answer) -> io::Result<()> {
        let columns = answer.columns();
        let arrays: Vec<ArrayRef> = columns.iter().map(array).collect();
        let field = |(column, array): (&AnswerColumn, &ArrayRef)| {
            Field::new(column.name.clone(), array.data_type().clone(), true)
        };
        let schema = Arc::new(Schema::new(columns.iter().zip(&arrays).map(field).collect::<Vec<_>>()));
        if let Self::New(target) = self
            && let Some(target) = target.take()
        {
            let writer = StreamWriter::try_new(target, &schema).map_err(unwritten)?;
            *self = Self::Begun(Box::new(writer));
        }
        let batch = RecordBatch::try_new(schema, arrays).map_err(io::Error::other)?;
        match self {
            Self::Begun(writer) => writer.write(&batch).map_err(unwritten),
            Self::New(_) => Err(io::Error::other("the stream did not begin")),
        }
    }

    pub(super) fn finish(self) -> io::Result<W> {
        match self {
            Self::Begun(writer) => writer.into_inner().map_err(unwritten),
            Self::New(target) => target.ok_or_else(|| io::Error::other("the stream did not begin")),
        }
    }
}

/// The I/O error of the target, if that is the cause.
fn unwritten(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}

fn array(column: &AnswerColumn) -> ArrayRef {
    match &column.cells {
        Cells::Numbers(numbers) => Arc::new(Float64Array::from(numbers.clone())),
        Cells::Texts(texts) => Arc::new(StringArray::from_iter_values(texts)),
        Cells::Truths(truths) => Arc::new(BooleanArray::from(truths.clone())),
        Cells::Warnings(lists) => warnings(lists),
        Cells::Lists(lists) => {
            let mut builder = ListBuilder::new(StringBuilder::new());
            for list in lists {
                builder.append_value(list.iter().map(Some));
            }
            Arc::new(builder.finish())
        }
    }
}

/// Lists of structs of texts: the column, the code, the detail, and the nearest known level or null.
fn warnings(lists: &[Vec<Warning>]) -> ArrayRef {
    const MEMBERS: [&str; 4] = ["column", "code", "detail", "nearest"];
    let fields: Vec<Field> = MEMBERS.map(|name| Field::new(name, DataType::Utf8, true)).into();
    let mut builder = ListBuilder::new(StructBuilder::from_fields(fields, 0));
    for list in lists {
        for warning in list {
            let texts = [Some(warning.column), Some(warning.code), Some(warning.detail.as_str()), warning.nearest];
            for (member, text) in texts.into_iter().enumerate() {
                if let Some(texts) = builder.values().field_builder::<StringBuilder>(member) {
                    texts.append_option(text);
                }
            }
            builder.values().append(true);
        }
        builder.append(true);
    }
    Arc::new(builder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type as Key;
    use arrow_array::{DictionaryArray, Int32Array};

    #[test]
    fn with_an_empty_dictionary_every_cell_is_missing() {
        let keys = Int32Array::from(vec![None, None]);
        let empty = DictionaryArray::<Key>::new(keys, Arc::new(StringArray::from(Vec::<&str>::new())));
        let cells = cell_reader(&empty).unwrap();
        assert!(matches!((cells(0), cells(1)), (Cell::Missing, Cell::Missing)));
    }

    #[test]
    fn dictionaries_do_not_grow_for_ever() {
        let batch = |bytes: usize| {
            let text = "x".repeat(bytes);
            let array: DictionaryArray<Key> = [text.as_str()].into_iter().collect();
            RecordBatch::try_from_iter([("c", Arc::new(array) as ArrayRef)]).unwrap()
        };
        assert!(refuse_large_dictionaries(&batch(1 << 20), 0).is_ok());
        let refused = refuse_large_dictionaries(&batch(LARGEST_DICTIONARIES), 3);
        assert!(matches!(refused, Err(Refusal::Invalid(problems)) if problems[0].pointer == "/batches/3"));
    }
    #[test]
    fn compressed_buffers_are_refused_by_what_the_sender_can_change() {
        for codec in ["lz4", "zstd"] {
            let error =
                ArrowError::InvalidArgumentError(format!("{codec} IPC decompression requires the {codec} feature"));
            let Refusal::Malformed { detail, .. } = malformed(&error) else { panic!() };
            assert!(detail.starts_with("compressed buffers are not supported"), "{detail}");
        }
    }
}
