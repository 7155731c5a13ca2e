//! JSON objects, one per row: on lines of their own, or in a list.

use super::text::{JsonFault, JsonText};
use crate::dataset::DatasetError;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::ops::Range;

/// The members of so many objects at the beginning are the columns of the table.
const SURVEYED: u64 = 1000;

/// How the objects are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// One after the other, usually on lines of their own.
    Lines,
    /// In one list.
    List,
}

/// A table of objects, read row by row.
pub(crate) struct JsonRecords {
    json: JsonText<File>,
    arrangement: Arrangement,
    names: Vec<String>,
    positions: HashMap<String, usize>,
    /// The text of the current row, in the order of the file.
    text: Vec<u8>,
    /// Where the cell of each column lies in it.
    cells: Vec<Range<usize>>,
    /// The row in which each column was last given.
    given: Vec<u64>,
    name: Vec<u8>,
    row: u64,
    /// Line on which the current row begins.
    line: u64,
}

impl JsonRecords {
    /// Finds the columns, and goes back to the first row.
    pub(crate) fn open(mut file: File, arrangement: Arrangement, column_limit: usize) -> Result<Self, DatasetError> {
        let mut survey = Self::at_start(file.try_clone()?, arrangement)?;
        while survey.row < SURVEYED && survey.read(Some(column_limit))? {}
        file.seek(SeekFrom::Start(0))?;
        let mut records = Self::at_start(file, arrangement)?;
        (records.names, records.positions) = (survey.names, survey.positions);
        records.cells = vec![0..0; records.names.len()];
        records.given = vec![0; records.names.len()];
        if records.names.is_empty() {
            return Err(if survey.row == 0 { DatasetError::Empty } else { no_members() });
        }
        Ok(records)
    }

    fn at_start(file: File, arrangement: Arrangement) -> Result<Self, DatasetError> {
        let mut json = JsonText::new(file);
        json.skip_byte_order_mark().map_err(|fault| fault.at(1, None))?;
        if arrangement == Arrangement::List {
            json.expect(b'[').map_err(|fault| fault.at(1, None))?;
        }
        let (names, positions, text, cells, given, name) = Default::default();
        Ok(Self { json, arrangement, names, positions, text, cells, given, name, row: 0, line: 1 })
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn advance(&mut self) -> Result<bool, DatasetError> {
        self.read(None)
    }

    /// Line of the current row, or its number in a list.
    pub(crate) fn line(&self) -> u64 {
        match self.arrangement {
            Arrangement::Lines => self.line,
            Arrangement::List => self.row,
        }
    }

    pub(crate) fn cell(&self, column: usize) -> &[u8] {
        &self.text[self.cells[column].clone()]
    }

    /// Reads the next row. With a limit of columns, new members become columns; else they are refused.
    fn read(&mut self, survey: Option<usize>) -> Result<bool, DatasetError> {
        self.row += 1;
        self.text.clear();
        self.cells.fill(0..0);
        match self.begin() {
            Ok(true) => {}
            Ok(false) => {
                self.row -= 1;
                return Ok(false);
            }
            Err(fault) => return Err(fault.at(self.line(), None)),
        }
        let mut expected = 0;
        loop {
            self.name.clear();
            let named = self.json.string(&mut self.name).and_then(|()| self.json.expect(b':'));
            named.map_err(|fault| fault.at(self.line(), None))?;
            let column = self.column(expected, survey)?;
            let start = self.text.len();
            self.json.cell(&mut self.text).map_err(|fault| fault.at(self.line(), Some(&self.names[column])))?;
            self.cells[column] = start..self.text.len();
            expected = column + 1;
            if !self.json.another(b'}').map_err(|fault| fault.at(self.line(), None))? {
                return Ok(true);
            }
        }
    }

    /// Moves into the next object, up to its first member; false at the end.
    fn begin(&mut self) -> Result<bool, JsonFault> {
        match self.arrangement {
            Arrangement::Lines if self.json.peek()?.is_none() => return Ok(false),
            Arrangement::Lines => {}
            Arrangement::List => {
                let ended = if self.row == 1 { self.json.take(b']')? } else { !self.json.another(b']')? };
                if ended {
                    return match self.json.peek()? {
                        None => Ok(false),
                        Some(_) => Err(JsonFault::Text("not JSON: text after the end of the list".into())),
                    };
                }
                self.json.peek()?;
            }
        }
        self.line = self.json.line;
        if self.json.peek()? != Some(b'{') {
            return Err(JsonFault::Text("each row must be a JSON object such as {\"area\": 120}".into()));
        }
        self.json.expect(b'{')?;
        if self.json.take(b'}')? {
            return Err(JsonFault::Text("the object has no members; write null for missing values".into()));
        }
        Ok(true)
    }

    /// The column of the member that was just named; most often the one after the last.
    fn column(&mut self, expected: usize, survey: Option<usize>) -> Result<usize, DatasetError> {
        let known = self.names.get(expected).filter(|name| name.as_bytes() == self.name).map(|_| expected);
        let column = if let Some(column) = known {
            column
        } else {
            let name = std::str::from_utf8(&self.name)
                .map_err(|_| DatasetError::at(self.line(), None, "a member's name is not valid UTF-8"))?;
            match (self.positions.get(name), survey) {
                (Some(column), _) => *column,
                (None, Some(limit)) if self.names.len() >= limit => {
                    let detail = format!("more columns than the limit of {limit}");
                    return Err(DatasetError::at(self.line(), None, detail));
                }
                (None, Some(_)) => {
                    let name = name.to_owned();
                    self.positions.insert(name.clone(), self.names.len());
                    self.names.push(name);
                    self.cells.push(0..0);
                    self.given.push(0);
                    self.names.len() - 1
                }
                (None, None) => {
                    let detail = format!(
                        "a member that no row has among the first {SURVEYED}; give it there too, as null if it is missing"
                    );
                    return Err(DatasetError::at(self.line(), Some(name), detail));
                }
            }
        };
        if std::mem::replace(&mut self.given[column], self.row) == self.row {
            return Err(DatasetError::at(self.line(), Some(&self.names[column]), "given twice in this object"));
        }
        Ok(column)
    }
}

fn no_members() -> DatasetError {
    DatasetError::table("the objects have no members; each column is a member such as \"area\": 120")
}
