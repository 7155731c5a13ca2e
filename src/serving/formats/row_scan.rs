//! Rows of numbers, scanned while the body arrives.
//!
//! Worth its place by `benches/json_rows.rs`: read by jiter, a batch of 1,000 rows of 90 numbers with all digits takes
//! 40% longer (2,048 features: 4.8 ms instead of 3.4 ms), one of 8 numbers 30% longer (512 features).

use super::cell_grid::Grid;
use super::json_numbers::{RunReader, read_number};
use crate::model::FittedModel;
use std::time::{Duration, Instant};

/// The start of most requests.
const HEAD: &[u8] = b"{\"rows\":";

/// After a number of at most this many bytes, mostly an integer, the next is read singly and not as a run.
const SHORT: usize = 3;

/// Most bytes of a body, by its Content-Length, that memory is reserved for.
const MOST_EXPECTED: usize = 16 << 20;

/// A list of rows, as far as it has been read. The scan gives up on anything but finite numbers; then jiter reads the
/// body from the start.
pub struct RowScan {
    limit: usize,
    /// The length of the whole body, or 0 if unknown.
    expected: usize,
    runs: RunReader,
    numbers: Vec<f64>,
    width: usize,
    rows: usize,
    /// How far the body has been read, and how far it has been searched for the end of a row.
    at: usize,
    searched: usize,
    stage: ScanStage,
    took: Duration,
}

#[derive(Clone, Copy, PartialEq)]
enum ScanStage {
    /// The list has not begun.
    Head,
    /// Within the list.
    Rows,
    /// The list has ended.
    Ended,
    /// Found something other than rows of finite numbers.
    GivenUp,
}

impl RowScan {
    /// A scan of a request that begins with its rows, at most `limit` of them.
    pub fn of_request(model: &FittedModel, limit: usize) -> Self {
        Self {
            limit,
            expected: 0,
            runs: RunReader::new(),
            numbers: Vec::with_capacity(model.inputs.encoding.columns.len()), // most requests are one row
            width: 0,
            rows: 0,
            at: 0,
            searched: 0,
            stage: ScanStage::Head,
            took: Duration::ZERO,
        }
    }

    /// Reads the list of rows at the start of `text`, and returns where it ends.
    pub(super) fn of_list(text: &[u8], model: &FittedModel, limit: usize) -> Option<(Grid, usize)> {
        let at = after(text, 0, b'[')?;
        Self { at, stage: ScanStage::Rows, ..Self::of_request(model, limit) }.finish(text)
    }

    /// Reads the rows that have arrived, and returns how many bytes of memory their numbers take. `text` is the body so
    /// far, of `expected` bytes in all if that is known.
    pub fn advance(&mut self, text: &[u8], expected: usize) -> usize {
        let begin = Instant::now();
        self.expected = expected;
        // In rows of numbers a closing bracket ends a row or the list.
        let last = text[self.searched..].iter().rposition(|byte| *byte == b']');
        let last = last.map(|last| self.searched + last);
        self.searched = text.len();
        // Numbers that take more memory than their text are not held while a slow client sends the rest.
        if let Some(last) = last.filter(|_| self.bytes() <= self.at) {
            self.scan(&text[..=last]);
        }
        self.took += begin.elapsed();
        self.bytes()
    }

    fn bytes(&self) -> usize {
        size_of_val(self.numbers.as_slice())
    }

    /// The time spent scanning so far.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// The list of a complete body, and where it ends. None if it holds anything but rows of finite numbers.
    pub(super) fn finish(mut self, text: &[u8]) -> Option<(Grid, usize)> {
        self.scan(text);
        (self.stage == ScanStage::Ended)
            .then(|| (Grid::of_numbers("/rows", self.width, self.rows, self.numbers), self.at))
    }

    /// Reads to the end of the list, or of a text that ends with a row.
    fn scan(&mut self, text: &[u8]) {
        if self.stage == ScanStage::Head {
            let list = text.starts_with(HEAD).then(|| after(text, HEAD.len(), b'[')).flatten();
            self.at = list.unwrap_or_default();
            self.stage = if list.is_some() { ScanStage::Rows } else { ScanStage::GivenUp };
        }
        while self.stage == ScanStage::Rows && self.at < text.len() {
            self.stage = self.scan_row(text).unwrap_or(ScanStage::GivenUp);
        }
    }

    /// Reads one row with the comma before it, or the end of the list. After a long number a run of fractions is tried.
    fn scan_row(&mut self, text: &[u8]) -> Option<ScanStage> {
        if self.rows > 0 {
            let Some(next) = after(text, self.at, b',') else {
                self.at = after(text, self.at, b']')?;
                return Some(ScanStage::Ended);
            };
            self.at = next;
        }
        let start = self.at;
        let mut at = past_blanks(text, after(text, start, b'[')?);
        let before = self.numbers.len();
        loop {
            let (number, end) = read_number(text, at).filter(|(number, _)| number.is_finite())?;
            self.numbers.push(number);
            let Some(comma) = after(text, end, b',') else {
                self.at = after(text, end, b']')?;
                break;
            };
            let next = past_blanks(text, comma);
            let long = end - at > SHORT && next - comma <= 1;
            at = if long {
                past_blanks(text, self.runs.read(text, next, next > comma, &mut self.numbers))
            } else {
                next
            };
        }
        let width = self.numbers.len() - before;
        if self.rows == 0 {
            self.width = width;
            // Assumes rows about as long as the first; a number with its comma takes at least two bytes.
            let to_come = self.expected.min(MOST_EXPECTED).max(text.len()) - self.at;
            let more = to_come / (self.at - start) * width;
            self.numbers.reserve(more.min(to_come / 2).min(self.limit.saturating_mul(width)));
        }
        self.rows += 1;
        (width == self.width && self.rows <= self.limit).then_some(ScanStage::Rows)
    }
}

/// The position of the next byte that is not blank.
#[inline]
fn past_blanks(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// The position after `mark`, if that is the next byte that is not blank.
#[inline]
fn after(text: &[u8], at: usize, mark: u8) -> Option<usize> {
    let at = past_blanks(text, at);
    (text.get(at) == Some(&mark)).then_some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> FittedModel {
        crate::model::decode(include_bytes!("../../../tests/fixtures/artifacts/ridge.bochner")).unwrap()
    }

    #[test]
    fn rows_of_numbers_are_scanned() {
        let model = model();
        let text = b"[[1, 2.5],[-3e2, 0]] , \"delta\": 0.1}";
        let (grid, end) = RowScan::of_list(text, &model, 2).unwrap();
        assert_eq!(&text[end..], b" , \"delta\": 0.1}");
        assert_eq!(grid.numbers(), [1.0, 2.5, -300.0, 0.0]);
        assert!(RowScan::of_list(text, &model, 1).is_none(), "more rows than the limit");
        for other in [
            "[[1, null]]",
            "[[1, 2],[3]]",
            "[[1, 2] [3, 4]]",
            "[[1, 2],]",
            "[[1, 2]",
            "[]",
            "[[]]",
            "[[1,]]",
            "[[1e999]]",
            "1",
        ] {
            assert!(RowScan::of_list(other.as_bytes(), &model, 9).is_none(), "{other}");
        }
    }

    /// Long rows with every kind of number and blanks, in parts cut anywhere.
    #[test]
    fn a_text_in_parts_is_read_as_at_once() {
        let model = model();
        let number = |i: u32| match i % 7 {
            0 => format!("{i}"),
            1 => format!("-{i}e-3"),
            _ => format!("{:?}", (f64::from(i) * 0.618_034 % 1.0 - 0.5) * f64::from(i % 30)),
        };
        for (comma, bracket) in [(",", "["), (", ", " [ "), (" ,\n", "[\t")] {
            let row = |row: u32| (0..40).map(|i| number(40 * row + i)).collect::<Vec<_>>().join(comma);
            let rows = (0..6).map(|i| format!("{bracket}{} ]", row(i))).collect::<Vec<_>>().join(comma);
            let text = format!("{{\"rows\": [{rows}] }}");
            let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
            let expected = expected["rows"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
            let expected: Vec<f64> = expected.map(|cell| cell.as_f64().unwrap()).collect();
            let text = text.as_bytes();
            for cut in 0..text.len() {
                let mut scan = RowScan::of_request(&model, 6);
                for come in [cut / 2, cut, text.len() - cut / 3] {
                    scan.advance(&text[..come.max(scan.searched)], text.len());
                }
                let (grid, end) = scan.finish(text).unwrap_or_else(|| panic!("cut at {cut}"));
                assert_eq!((grid.numbers(), &text[end..]), (&expected[..], &b" }"[..]), "cut at {cut}");
            }
        }
    }

    #[test]
    fn numbers_shorter_than_doubles_wait_for_the_end() {
        let model = model();
        let text = format!("{{\"rows\":[{}[0,0]]}}", "[0,0],".repeat(100));
        let mut scan = RowScan::of_request(&model, 101);
        let taken: Vec<usize> = (1..=text.len()).map(|come| scan.advance(&text.as_bytes()[..come], 0)).collect();
        assert_eq!(*taken.last().unwrap(), 16, "those of the first row");
        let (grid, _) = scan.finish(text.as_bytes()).unwrap();
        assert_eq!(grid.numbers(), [0.0; 202]);
    }

    #[test]
    fn what_begins_otherwise_is_given_up() {
        let model = model();
        for text in ["{\"records\":[[1]]}", " {\"rows\":[[1]]}", "{\"rows\":[[1],[\"]\"],[2]]}", "[[1]]", "", "]"] {
            let mut scan = RowScan::of_request(&model, 6);
            scan.advance(text.as_bytes(), 0);
            assert!(scan.finish(text.as_bytes()).is_none(), "{text}");
        }
    }
}
