//! LIBSVM: a label and `index:value` pairs on each line. What is not written is zero.

use crate::dataset::DatasetError;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

/// Longest line.
const LONGEST_LINE: u64 = 16 << 20;

/// The name of the column of labels, which is the last one.
const LABEL: &str = "label";

/// A table, read row by row. Column `x3` holds the values of index 3.
pub(crate) struct LibsvmTable {
    lines: Lines,
    names: Vec<String>,
    /// The index of the first column: 0 or 1.
    first_index: u32,
    /// Where the value of each column lies in the line; nothing for zero.
    cells: Vec<Option<(usize, usize)>>,
}

impl LibsvmTable {
    /// Reads the file once to find the indices in use, and goes back to its first line.
    pub(crate) fn open(mut file: File, column_limit: usize) -> Result<Self, DatasetError> {
        let (mut lowest, mut highest, mut found) = (1, 0, false);
        let mut survey = Lines::new(file.try_clone()?);
        while survey.advance()? {
            found = true;
            let number = survey.number;
            for pair in pairs(survey.text(), number)? {
                let (index, _) = pair?;
                (lowest, highest) = (lowest.min(index), highest.max(index));
            }
        }
        if !found {
            return Err(DatasetError::Empty);
        }
        let columns = (u64::from(highest) + 1).saturating_sub(u64::from(lowest));
        if columns >= column_limit as u64 {
            let detail = format!("the highest index is {highest}, and a table has at most {column_limit} columns");
            return Err(DatasetError::table(detail));
        }
        if columns == 0 {
            return Err(DatasetError::table("no line has an index:value pair; a dataset needs at least one input"));
        }
        file.seek(SeekFrom::Start(0))?;
        let mut names: Vec<String> = (lowest..=highest).map(|index| format!("x{index}")).collect();
        names.push(LABEL.into());
        Ok(Self { lines: Lines::new(file), cells: vec![None; names.len()], names, first_index: lowest })
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn advance(&mut self) -> Result<bool, DatasetError> {
        if !self.lines.advance()? {
            return Ok(false);
        }
        self.cells.fill(None);
        let text = self.lines.text();
        let place = |part: &str| {
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            Some((start, start + part.len()))
        };
        for pair in pairs(text, self.lines.number)? {
            let (index, value) = pair?;
            self.cells[(index - self.first_index) as usize] = place(value);
        }
        if let Some(label) = self.cells.last_mut() {
            *label = text.split_ascii_whitespace().next().and_then(place);
        }
        Ok(true)
    }

    pub(crate) fn line(&self) -> u64 {
        self.lines.number
    }

    pub(crate) fn cell(&self, column: usize) -> &[u8] {
        self.cells[column].map_or(b"0", |(start, end)| &self.lines.text().as_bytes()[start..end])
    }
}

/// The pairs of a line after its label, with increasing indices.
fn pairs(line: &str, number: u64) -> Result<impl Iterator<Item = Result<(u32, &str), DatasetError>>, DatasetError> {
    let refuse = move |detail: String| DatasetError::at(number, None, detail);
    let mut words = line.split_ascii_whitespace();
    let label = words.next().unwrap_or_default();
    if label.parse::<f64>().is_err() {
        return Err(refuse(format!("expected a number as the label, found '{label}'")));
    }
    let mut previous = None;
    Ok(words.map(move |word| {
        let found = word.split_once(':').and_then(|(index, value)| Some((index.parse::<u32>().ok()?, value)));
        let Some((index, value)) = found.filter(|(_, value)| value.parse::<f64>().is_ok()) else {
            let detail = if word.starts_with("qid:") {
                "groups of rows (qid) are not supported; remove them".to_owned()
            } else {
                format!("expected index:value, found '{word}'")
            };
            return Err(refuse(detail));
        };
        if previous.replace(index).is_some_and(|previous| previous >= index) {
            return Err(refuse(format!("index {index} comes after one that is not smaller; write indices in order")));
        }
        Ok((index, value))
    }))
}

/// Lines without comments, and without those that are empty then.
struct Lines {
    input: BufReader<File>,
    line: String,
    number: u64,
}

impl Lines {
    fn new(file: File) -> Self {
        Self { input: BufReader::with_capacity(1 << 16, file), line: String::new(), number: 0 }
    }

    fn advance(&mut self) -> Result<bool, DatasetError> {
        loop {
            self.number += 1;
            let mut bytes = std::mem::take(&mut self.line).into_bytes();
            bytes.clear();
            let count = self.input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
            if count as u64 == LONGEST_LINE {
                return Err(DatasetError::at(self.number, None, format!("longer than {} MiB", LONGEST_LINE >> 20)));
            }
            self.line = String::from_utf8(bytes).map_err(|_| DatasetError::at(self.number, None, "not valid UTF-8"))?;
            if count == 0 {
                return Ok(false);
            }
            if !self.text().trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn text(&self) -> &str {
        self.line.split('#').next().unwrap_or_default()
    }
}
