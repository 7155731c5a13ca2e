//! CSV records with their line numbers.

use super::quotes::Quotes;
use crate::dataset::DatasetError;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use std::io::{BufRead, BufReader, Read};

/// How a CSV body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvOptions {
    /// An ASCII character that separates cells.
    pub delimiter: u8,
    /// Whether the first line names the columns; `None` expects names and refuses numbers.
    pub header: Option<bool>,
}

/// Reads a delimiter: one ASCII character, or its name.
pub fn parse_delimiter(text: &str) -> Result<u8, DatasetError> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "comma" => Ok(b','),
        "semicolon" => Ok(b';'),
        "pipe" => Ok(b'|'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\n' | b'\r') => {
                Ok(*byte)
            }
            _ => Err(DatasetError::Option {
                option: "delimiter",
                detail: format!(
                    "expected comma, semicolon, tab, pipe, space or one ASCII punctuation character, found '{text}'"
                ),
            }),
        },
    }
}

/// Bytes that some programs write before UTF-8 text.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Longest record. Otherwise a quote that is never closed would read the rest of the file into memory as one cell.
const LONGEST_RECORD: usize = 16 << 20;

/// A CSV text, read row by row.
pub struct CsvTable<R> {
    input: BufReader<R>,
    parser: Reader,
    quotes: Quotes,
    column_limit: usize,
    /// The text of the current record, cell after cell.
    text: Vec<u8>,
    /// Where each cell ends.
    ends: Vec<usize>,
    cell_count: usize,
    /// Line of the current record.
    line: u64,
    /// Whether the last line ended with a carriage return, after which a line feed may follow.
    ends_with_return: bool,
    /// Lines that ended with a carriage return alone, which the parser does not count.
    lone_returns: u64,
    /// Whether the first record is data and not read yet.
    pending: bool,
    /// Names of the columns.
    pub names: Vec<String>,
}

impl<R: Read> CsvTable<R> {
    /// Reads the header. Without one, columns are called `column_1`, `column_2` and so on.
    pub fn new(source: R, options: CsvOptions, column_limit: usize) -> Result<Self, DatasetError> {
        let mut table = Self {
            input: BufReader::with_capacity(1 << 16, source),
            parser: ReaderBuilder::new().delimiter(options.delimiter).build(),
            quotes: Quotes::new(options.delimiter),
            column_limit,
            text: vec![0; 1 << 12],
            ends: vec![0; 1 << 6],
            cell_count: 0,
            line: 0,
            ends_with_return: false,
            lone_returns: 0,
            pending: false,
            names: Vec::new(),
        };
        table.skip_byte_order_mark()?;
        if !table.read_record()? {
            return Err(DatasetError::Empty);
        }
        if options.header == Some(false) {
            table.names = (1..=table.cell_count).map(|number| format!("column_{number}")).collect();
            table.pending = true;
        } else {
            table.names = table.header_names(options.header.is_none())?;
        }
        Ok(table)
    }

    /// Moves to the next row; false at the end.
    pub fn advance(&mut self) -> Result<bool, DatasetError> {
        if std::mem::take(&mut self.pending) {
            return Ok(true);
        }
        if !self.read_record()? {
            return Ok(false);
        }
        if self.cell_count != self.names.len() {
            let detail = format!("found {} cells, expected {} as in the first line", self.cell_count, self.names.len());
            return Err(DatasetError::at(self.line, None, detail));
        }
        Ok(true)
    }

    /// Line of the current row.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The text of one cell of the current row, without spaces around it.
    pub fn cell(&self, column: usize) -> Result<&str, DatasetError> {
        let start = if column == 0 { 0 } else { self.ends[column - 1] };
        std::str::from_utf8(self.text[start..self.ends[column]].trim_ascii())
            .map_err(|_| DatasetError::at(self.line, self.names.get(column).map(String::as_str), "not valid UTF-8"))
    }

    /// Reads one record into buffers that grow only up to their limits.
    fn read_record(&mut self) -> Result<bool, DatasetError> {
        self.skip_line_ends()?;
        self.line = self.next_line();
        let (mut text_length, mut cell_count) = (0, 0);
        loop {
            let input = self.input.fill_buf()?;
            let (outcome, read, written, cells) =
                self.parser.read_record(input, &mut self.text[text_length..], &mut self.ends[cell_count..]);
            let quotes = if input.is_empty() { self.quotes.finish() } else { self.quotes.pass(&input[..read]) };
            quotes.map_err(|detail| DatasetError::at(self.line, None, detail))?;
            self.ends_with_return = input[..read].last().map_or(self.ends_with_return, |last| *last == b'\r');
            self.input.consume(read);
            text_length += written;
            cell_count += cells;
            match outcome {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.text.len() >= LONGEST_RECORD => {
                    let detail =
                        format!("longer than {} MiB; check for a quote that is not closed", LONGEST_RECORD >> 20);
                    return Err(DatasetError::at(self.line, None, detail));
                }
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull if self.ends.len() > self.column_limit => {
                    return Err(self.too_many_columns());
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record if cell_count > self.column_limit => return Err(self.too_many_columns()),
                ReadRecordResult::Record => {
                    self.cell_count = cell_count;
                    return Ok(true);
                }
                ReadRecordResult::End => return Ok(false),
            }
        }
    }

    fn too_many_columns(&self) -> DatasetError {
        DatasetError::at(self.line, None, format!("more columns than the limit of {}", self.column_limit))
    }

    fn skip_byte_order_mark(&mut self) -> Result<(), DatasetError> {
        if self.input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
            self.input.consume(BYTE_ORDER_MARK.len());
        }
        Ok(())
    }

    /// Skips empty lines one byte at a time, so that the line number is that of the record. In a table of one column an
    /// empty line is refused: some programs write a missing cell that way.
    fn skip_line_ends(&mut self) -> Result<(), DatasetError> {
        while let Some(&byte @ (b'\n' | b'\r')) = self.input.fill_buf()?.first() {
            let ends_line = byte == b'\n' && std::mem::take(&mut self.ends_with_return);
            self.count_lone_return();
            if self.names.len() == 1 && !ends_line {
                let detail = "an empty line; in a table of one column, write \"\" for a missing cell";
                return Err(DatasetError::at(self.next_line(), None, detail));
            }
            self.parser.read_record(&[byte], &mut self.text, &mut self.ends);
            self.input.consume(1);
            self.ends_with_return = byte == b'\r';
        }
        self.count_lone_return();
        Ok(())
    }

    /// A carriage return that no line feed followed has ended a line.
    fn count_lone_return(&mut self) {
        self.lone_returns += u64::from(std::mem::take(&mut self.ends_with_return));
    }

    fn next_line(&self) -> u64 {
        self.parser.line() + self.lone_returns
    }

    fn header_names(&self, refuse_numbers: bool) -> Result<Vec<String>, DatasetError> {
        let mut names: Vec<String> = Vec::new();
        for column in 0..self.cell_count {
            let name = self.cell(column)?;
            if name.is_empty() {
                let detail = format!(
                    "column {} has no name; if it is the index of a data frame, write the table without it",
                    column + 1
                );
                return Err(DatasetError::at(self.line, None, detail));
            }
            if names.iter().any(|earlier| earlier == name) {
                return Err(DatasetError::at(self.line, Some(name), "two columns have this name"));
            }
            names.push(name.to_owned());
        }
        if refuse_numbers && names.iter().all(|name| name.parse::<f64>().is_ok()) {
            let detail = "the first line holds only numbers; set header=false if it is data, or header=true if it is names (in a \
                          content type: text/csv; header=absent or header=present)";
            return Err(DatasetError::at(self.line, None, detail));
        }
        Ok(names)
    }

    /// Refuses a table of one column. Often the delimiter is a different one.
    pub(crate) fn refuse_single_column(&self, delimiter: u8) -> Result<(), DatasetError> {
        if self.names.len() > 1 {
            return Ok(());
        }
        let first_line = self.cell(0)?;
        let other = [',', ';', '\t', '|'].into_iter().find(|&c| c as u8 != delimiter && first_line.contains(c));
        Err(DatasetError::table(match other {
            Some(other) => {
                format!("found only one column, but its name contains '{}'; set delimiter", other.escape_default())
            }
            None => "found only one column; a dataset needs at least one input and a target".to_owned(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMA: CsvOptions = CsvOptions { delimiter: b',', header: None };

    /// The first failure of reading a whole table.
    fn failure(text: &[u8], column_limit: usize) -> String {
        let read = || -> Result<(), DatasetError> {
            let mut table = CsvTable::new(text, COMMA, column_limit)?;
            while table.advance()? {}
            Ok(())
        };
        read().unwrap_err().to_string()
    }

    #[test]
    fn lines_are_counted_over_blank_lines_and_quoted_line_ends() {
        let text = b"a,b\r\n\r\n1,\"x\ny\"\n\n\n2,z\n";
        let mut table = CsvTable::new(text.as_slice(), COMMA, 9).unwrap();
        assert!(table.advance().unwrap());
        assert_eq!((table.line(), table.cell(1).unwrap()), (3, "x\ny"));
        assert!(table.advance().unwrap());
        assert_eq!((table.line(), table.cell(0).unwrap()), (7, "2"));
        assert!(!table.advance().unwrap());
    }

    #[test]
    fn a_carriage_return_alone_ends_a_line_too() {
        for (text, lines) in
            [("a,b\r1,2\r3,4\r", [2, 3]), ("a,b\r\r1,2\r\r\n3,4", [3, 5]), ("\r\na,b\n\r1,2\r\n3,4\r", [4, 5])]
        {
            let mut table = CsvTable::new(text.as_bytes(), COMMA, 9).unwrap();
            for line in lines {
                assert!(table.advance().unwrap());
                assert_eq!(table.line(), line, "{text:?}");
            }
            assert!(!table.advance().unwrap());
        }
        assert_eq!(failure(b"a,b\r1,2\r3\r", 9), "line 3: found 1 cells, expected 2 as in the first line");
    }

    #[test]
    fn empty_lines_are_skipped_unless_there_is_one_column() {
        let refusal = "an empty line; in a table of one column, write \"\" for a missing cell";
        for text in ["x\n1\n\n2\n", "x\r\n1\r\n\r\n2\r\n", "x\n1\n\n", "x\r1\r\r2"] {
            let failure = failure(text.as_bytes(), 9);
            assert!(failure.ends_with(refusal), "{text:?}: {failure}");
        }
        assert_eq!(failure(b"\nx\n1\n\n2\n", 9), format!("line 4: {refusal}"));
        for text in ["x\n1\n\"\"\n2\n", "x\r\n1\r\n\"\"\r\n2", "\n\nx\n1\n \n2\n", "x\r1\r\"\"\r2\r"] {
            let mut table = CsvTable::new(text.as_bytes(), COMMA, 9).unwrap();
            let mut cells = Vec::new();
            while table.advance().unwrap() {
                cells.push(table.cell(0).unwrap().to_owned());
            }
            assert_eq!(cells, ["1", "", "2"], "{text:?}");
        }
    }

    #[test]
    fn quotes_that_swallow_cells_are_refused() {
        assert_eq!(failure(b"a,b,z\n1,2,\"x\n4,5,y\n7,8,w\n", 9), "line 2: a quote is not closed");
        assert_eq!(failure(b"a,b\n1,2\n\n3,\"3\"4\n", 9), "line 4: text after a closing quote");
        assert_eq!(failure(b"\xef\xbb\xbf\"a\"b,c\n", 9), "line 1: text after a closing quote");
        let text = b"\xef\xbb\xbf\"a,a\",b\n\"1\" , 5\" pipe\n\"\"\"x\"\"\",\"\"";
        let mut table = CsvTable::new(text.as_slice(), COMMA, 9).unwrap();
        assert_eq!(table.names, ["a,a", "b"]);
        let mut rows = Vec::new();
        while table.advance().unwrap() {
            rows.push([0, 1].map(|column| table.cell(column).unwrap().to_owned()));
        }
        assert_eq!(rows, [["1", "5\" pipe"], ["\"x\"", ""]]);
    }

    #[test]
    fn records_have_limits() {
        assert_eq!(failure(b"a,b,c,d\n", 3), "line 1: more columns than the limit of 3");
        assert_eq!(failure(b"a,b\n1,2,3,4,5\n", 4), "line 2: more columns than the limit of 4");
        assert_eq!(failure(b"a,b\n1,2,3\n", 4), "line 2: found 3 cells, expected 2 as in the first line");
        let mut open_quote = b"a,b\n1,2\n3,\"".to_vec();
        assert_eq!(failure(&open_quote, 9), "line 3: a quote is not closed");
        open_quote.resize(LONGEST_RECORD + 100, b'x');
        assert!(failure(&open_quote, 9).starts_with("line 3: longer than 16 MiB"));
    }
}
