//! Checks the quotes of CSV. The parser accepts a quote that is never closed and text after a closing quote, and then
//! returns other cells or rows than were meant.

/// The position within a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuoteState {
    Start,
    Bare,
    Quoted,
    /// After a quote inside quotes: the end of the cell, or half of a doubled quote.
    Quote,
    /// In blanks after a closing quote.
    Closed,
}

/// Checks records as they are read, piece by piece.
pub(crate) struct Quotes {
    delimiter: u8,
    place: QuoteState,
}

impl Quotes {
    pub(crate) fn new(delimiter: u8) -> Self {
        Self { delimiter, place: QuoteState::Start }
    }

    /// Checks the next piece.
    pub(crate) fn pass(&mut self, text: &[u8]) -> Result<(), &'static str> {
        // Most text has no quotes at all.
        if matches!(self.place, QuoteState::Start | QuoteState::Bare) && !text.contains(&b'"') {
            if let Some(&last) = text.last() {
                self.place = if self.ends_cell(last) { QuoteState::Start } else { QuoteState::Bare };
            }
            return Ok(());
        }
        for &byte in text {
            self.place = match (self.place, byte) {
                (QuoteState::Quoted, b'"') => QuoteState::Quote,
                (QuoteState::Start | QuoteState::Quote, b'"') | (QuoteState::Quoted, _) => QuoteState::Quoted,
                (_, byte) if self.ends_cell(byte) => QuoteState::Start,
                (QuoteState::Start | QuoteState::Bare, _) => QuoteState::Bare,
                (QuoteState::Quote | QuoteState::Closed, b' ' | b'\t') => QuoteState::Closed,
                (QuoteState::Quote | QuoteState::Closed, _) => return Err("text after a closing quote"),
            };
        }
        Ok(())
    }

    /// Checks that the text may end here.
    pub(crate) fn finish(&self) -> Result<(), &'static str> {
        if self.place == QuoteState::Quoted { Err("a quote is not closed") } else { Ok(()) }
    }

    fn ends_cell(&self, byte: u8) -> bool {
        byte == self.delimiter || matches!(byte, b'\n' | b'\r')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str, piece: usize) -> Result<(), &'static str> {
        let mut quotes = Quotes::new(b',');
        text.as_bytes().chunks(piece).try_for_each(|piece| quotes.pass(piece))?;
        quotes.finish()
    }

    #[test]
    fn quotes_are_followed_however_the_text_is_cut() {
        let whole =
            ["", "a,b\n", "\"a\",\"b\"\r\n", "\"\"", "\"a\"\"b\",c", "\"a,\nb\"", "5\" pipe,x", "\"a\" ,b", "a,\"\"\n"];
        for text in whole {
            for piece in 1..=text.len().max(1) {
                assert_eq!(verdict(text, piece), Ok(()), "{text:?} by {piece}");
            }
        }
        for (text, wrong) in [
            ("1,\"3\n4,5\n", "a quote is not closed"),
            ("\"", "a quote is not closed"),
            ("\"\"\"", "a quote is not closed"),
            ("1,\"3\"4", "text after a closing quote"),
            ("\"3\" \"4\"", "text after a closing quote"),
            ("1,\"x\n2,\"y\"\n", "text after a closing quote"),
        ] {
            for piece in 1..=text.len() {
                assert_eq!(verdict(text, piece), Err(wrong), "{text:?} by {piece}");
            }
        }
    }
}
