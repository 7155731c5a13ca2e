//! A JSON object of lists, one per column. The file is read once to find the lists, then in as many places at once as
//! there are columns.

use super::text::{JsonFault, JsonText};
use crate::dataset::DatasetError;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Memory of all places together.
const BUFFERS: usize = 16 << 20;

/// One place in a file that is read in several.
struct FilePlace {
    file: Arc<File>,
    offset: u64,
}

impl Read for FilePlace {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// A table of lists, read row by row.
pub(crate) struct JsonColumns {
    names: Vec<String>,
    lists: Vec<JsonText<FilePlace>>,
    cells: Vec<Vec<u8>>,
    rows: u64,
    row: u64,
}

impl JsonColumns {
    /// Finds the lists and compares their lengths.
    pub(crate) fn open(file: File, column_limit: usize) -> Result<Self, DatasetError> {
        let found = find_lists(&file, column_limit)?;
        let Some(first) = found.first() else {
            return Err(DatasetError::table(
                "the object has no members; each column is a list such as \"area\": [120, 85]",
            ));
        };
        if let Some(other) = found.iter().find(|list| list.length != first.length) {
            let detail = format!("has {} values, and column '{}' has {}", other.length, first.name, first.length);
            return Err(DatasetError::column(&other.name, detail));
        }
        let rows = first.length;
        let file = Arc::new(file);
        let buffer = (BUFFERS / found.len()).clamp(512, 1 << 16);
        let lists = found
            .iter()
            .map(|list| JsonText::with_buffer(FilePlace { file: Arc::clone(&file), offset: list.offset }, buffer));
        let lists: Vec<_> = lists.collect();
        let cells = vec![Vec::new(); lists.len()];
        Ok(Self { names: found.into_iter().map(|list| list.name).collect(), lists, cells, rows, row: 0 })
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn advance(&mut self) -> Result<bool, DatasetError> {
        if self.row == self.rows {
            return Ok(false);
        }
        let is_first = self.row == 0;
        self.row += 1;
        for ((list, cell), name) in self.lists.iter_mut().zip(&mut self.cells).zip(&self.names) {
            cell.clear();
            let comma = if is_first { Ok(()) } else { list.expect(b',') };
            comma.and_then(|()| list.cell(cell)).map_err(|fault| fault.at(self.row, Some(name)))?;
        }
        Ok(true)
    }

    /// Number of the current row, from one.
    pub(crate) fn line(&self) -> u64 {
        self.row
    }

    pub(crate) fn cell(&self, column: usize) -> &[u8] {
        &self.cells[column]
    }
}

struct FoundList {
    name: String,
    /// Of its first value.
    offset: u64,
    length: u64,
}

fn find_lists(file: &File, column_limit: usize) -> Result<Vec<FoundList>, DatasetError> {
    let mut json = JsonText::new(file);
    let mut found: Vec<FoundList> = Vec::new();
    let outside = |fault: JsonFault| match fault {
        JsonFault::Io(error) => DatasetError::from(error),
        JsonFault::Text(detail) => DatasetError::table(detail),
    };
    json.skip_byte_order_mark().and_then(|()| json.expect(b'{')).map_err(outside)?;
    let mut more = !json.take(b'}').map_err(outside)?;
    while more {
        let mut name = Vec::new();
        json.string(&mut name).and_then(|()| json.expect(b':')).map_err(outside)?;
        let name = String::from_utf8(name).map_err(|_| DatasetError::table("a column's name is not valid UTF-8"))?;
        if found.len() == column_limit {
            return Err(DatasetError::table(format!("more columns than the limit of {column_limit}")));
        }
        if json.peek().map_err(outside)? != Some(b'[') {
            let detail = "is not a list; send an object of lists, one per column, or a list of objects, one per row";
            return Err(DatasetError::column(&name, detail));
        }
        json.expect(b'[').map_err(outside)?;
        let offset = json.offset();
        let length = length_of_list(&mut json).map_err(|(row, fault)| fault.at(row, Some(&name)))?;
        found.push(FoundList { name, offset, length });
        more = json.another(b'}').map_err(outside)?;
    }
    match json.peek().map_err(outside)? {
        None => Ok(found),
        Some(b'{') => {
            let detail = "more than one JSON object; if each line is one, send it as application/x-ndjson";
            Err(DatasetError::table(detail))
        }
        Some(_) => Err(DatasetError::table("not JSON: text after the end of the object")),
    }
}

/// The number of values up to the end of the list, each of which must be a cell.
fn length_of_list(json: &mut JsonText<&File>) -> Result<u64, (u64, JsonFault)> {
    let mut length = 0;
    let mut cell = Vec::new();
    let mut more = !json.take(b']').map_err(|fault| (1, fault))?;
    while more {
        length += 1;
        cell.clear();
        more = json.cell(&mut cell).and_then(|()| json.another(b']')).map_err(|fault| (length, fault))?;
    }
    Ok(length)
}
