//! JSON lines: reads one row per line, a record or a list of cells, and writes one prediction per line.

use super::BLOCK_ROWS;
use super::json_rows::{read_record, read_row};
use super::names::Names;
use crate::dataset::BYTE_ORDER_MARK;
use crate::model::FittedModel;
use crate::serving::answer::RowAnswer;
use crate::serving::request_rows::RequestRows;
use crate::serving::{Answer, Refusal, RefusalCode};
use jiter::{Jiter, Peek};
use std::io::{self, BufRead, BufReader, Read, Write};

/// Longest line in bytes: a body without line ends is not read into memory whole.
const LONGEST_LINE: u64 = 16 << 20;

/// Reads the rows of a model from JSON lines.
pub struct NdjsonRows<'m, R> {
    source: BufReader<R>,
    model: &'m FittedModel,
    names: Names<'m>,
    line: Vec<u8>,
    number: u64,
}

impl<'m, R: Read> NdjsonRows<'m, R> {
    pub(super) fn new(source: R, model: &'m FittedModel) -> Self {
        let source = BufReader::with_capacity(1 << 16, source);
        Self { source, model, names: Names::of(model), line: Vec::new(), number: 0 }
    }

    pub(super) fn next_block(&mut self) -> Result<Option<RequestRows>, Refusal> {
        let mut block = RequestRows::of(self.model);
        while block.len() < BLOCK_ROWS && self.advance()? {
            if self.line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let place = format!("/lines/{}", self.number);
            self.read_line(&mut block, &place).map_err(|refusal| match refusal {
                // The parser sees one line only, so its line number is always 1.
                Refusal::Malformed { code, detail } => {
                    let detail = detail.replace(" at line 1 column ", " at column ");
                    Refusal::Malformed { code, detail: format!("line {}: {detail}", self.number) }
                }
                refusal => refusal,
            })?;
            block.locations.push_line(self.number);
        }
        Ok(Some(block).filter(|block| !block.is_empty()))
    }

    fn advance(&mut self) -> Result<bool, Refusal> {
        self.line.clear();
        self.number += 1;
        let read = self.source.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| Refusal::malformed(RefusalCode::UnreadableBody, error.to_string()))?;
        if read as u64 == LONGEST_LINE {
            let detail = format!("the line is longer than {} MiB", LONGEST_LINE >> 20);
            return Err(Refusal::invalid(format!("/lines/{}", self.number), detail));
        }
        if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(read > 0)
    }

    fn read_line(&self, block: &mut RequestRows, place: &str) -> Result<(), Refusal> {
        let mut json = Jiter::new(self.line.trim_ascii_end()).with_allow_inf_nan(); // bare NaN parses, so that the refusal can name its column
        match json.peek().map_err(|error| Refusal::json(&json, &error))? {
            Peek::Array => read_row(&mut json, self.model, block, place)?,
            peek @ Peek::Object => read_record(&mut json, peek, (self.model, &self.names), block, place)?,
            _ => return Err(Refusal::unlike(&mut json, place, "must be an object or a list of cells")),
        }
        json.finish().map_err(|error| Refusal::json(&json, &error))
    }
}

/// Writes one line per row.
pub(super) fn write(answer: Answer, target: &mut impl Write) -> io::Result<()> {
    for row in 0..answer.predictions.values.nrows() {
        serde_json::to_writer(&mut *target, &RowAnswer { answer, row })?;
        target.write_all(b"\n")?;
    }
    Ok(())
}
