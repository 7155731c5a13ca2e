//! What an upload asks when the cells of a column do not decide: which cells, and the parameter that decides.

use super::number_statistics::CountedCells;
use super::profile::Profile;
use crate::dataset::{DatasetError, DecimalMark};

impl Profile {
    pub(super) fn ask(&self, name: &str, strays: u64) -> DatasetError {
        let shown = self.listed(&CountedCells::merged([&self.truths, &self.dates, &self.texts]));
        let (numbers, words) =
            (self.numbers.count, words_of(&CountedCells::merged([&self.truths, &self.dates, &self.texts])));
        DatasetError::column(
            name,
            format!(
                "{numbers} cells are numbers and {strays} are not: {shown}. Correct the cells, send missing={words} if they \
                 stand for missing values, categorical={name} if the cells are levels, or ignore={name}"
            ),
        )
    }

    pub(super) fn ask_for_dates(&self, name: &str, strays: u64) -> DatasetError {
        let others = CountedCells::merged([&self.number_cells, &self.truths, &self.texts]);
        let shown = if others.is_empty() { self.listed(&self.dates.first) } else { self.listed(&others) };
        DatasetError::column(
            name,
            format!(
                "most cells are dates and {strays} are not, or not in the same order of day and month: {shown}. Correct the \
                 cells, send missing= with the words that stand for missing values, categorical={name} if the cells are \
                 levels, or ignore={name}"
            ),
        )
    }

    /// Cells with their places.
    pub(super) fn listed(&self, cells: &[(u64, String)]) -> String {
        let unit = self.unit.name();
        let cell = |(line, cell): &(u64, String)| format!("'{cell}' ({unit} {line})");
        cells.iter().map(cell).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn ask_for_order(&self, name: &str) -> DatasetError {
        let shown = self.listed(&self.dates.first);
        DatasetError::column(
            name,
            format!(
                "every date can be read with the day or the month first: {shown}. Send day_first=true or day_first=false"
            ),
        )
    }

    pub(super) fn ask_for_decimal(&self, name: &str) -> DatasetError {
        let shown = self.listed(&self.texts.first);
        let (mark, parameter) = match self.notation.decimal {
            DecimalMark::Point => ("comma", "decimal=comma"),
            DecimalMark::Comma => ("point", "decimal=point"),
        };
        let remedy = if self.takes_decimal {
            format!("Send {parameter}")
        } else {
            "Write them as numbers with a decimal point".to_owned()
        };
        DatasetError::column(
            name,
            format!(
                "cells are numbers with a decimal {mark}: {shown}. {remedy}, or send categorical={name} if they are levels"
            ),
        )
    }
}

pub(super) fn date_target(name: &str) -> DatasetError {
    DatasetError::column(
        name,
        format!(
            "the target holds dates, which are not predicted; choose another column with target=, send the date as a \
                 number, or send categorical={name}"
        ),
    )
}

fn words_of(cells: &[(u64, String)]) -> String {
    let mut words: Vec<&str> = cells.iter().map(|(_, cell)| cell.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    words.join(",")
}
