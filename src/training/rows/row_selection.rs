//! Which rows a pass goes over: all, or a sample.

use super::run::Run;
use crate::dataset::Part;
use crate::training::spec::memory::BLOCK_ROWS;
use std::ops::Range;

/// Rows of a sample that stand next to each other: few, since tables are often sorted, and enough to be read at once.
const STRETCH_ROWS: usize = 16;

/// Stretches of rows in blocks of at most [`BLOCK_ROWS`] rows.
pub(crate) struct RowSelection {
    blocks: Vec<Vec<Range<usize>>>,
    /// Whether all rows are meant, those that are not at hand among them.
    whole: bool,
}

impl RowSelection {
    /// All rows.
    fn all(row_count: usize) -> Self {
        let block = |first: usize| std::iter::once(first..row_count.min(first + BLOCK_ROWS)).collect();
        Self { blocks: (0..row_count).step_by(BLOCK_ROWS).map(block).collect(), whole: true }
    }

    /// Whether all rows are meant, those that are not at hand among them.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Stretches spread evenly over these rows, about `wanted` of every `available` of them, at least one.
    fn thinned(&self, wanted: usize, available: usize) -> Self {
        let cut = |rows: &Range<usize>| {
            let rows = rows.clone();
            rows.clone().step_by(STRETCH_ROWS).map(move |first| first..rows.end.min(first + STRETCH_ROWS))
        };
        let stretches: Vec<Range<usize>> = self.blocks.iter().flatten().flat_map(cut).collect();
        let count = (wanted * stretches.len()).div_ceil(available.max(1)).clamp(1, stretches.len().max(1));
        let kept: Vec<Range<usize>> =
            (0..count).filter_map(|index| stretches.get(index * stretches.len() / count).cloned()).collect();
        Self { blocks: kept.chunks(BLOCK_ROWS / STRETCH_ROWS).map(<[Range<usize>]>::to_vec).collect(), whole: false }
    }

    pub(crate) fn count(&self) -> usize {
        self.blocks.len()
    }

    /// The stretches of one block, [`BLOCK_ROWS`] rows at most.
    pub(crate) fn block(&self, index: usize) -> &[Range<usize>] {
        &self.blocks[index]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[Range<usize>]> {
        self.blocks.iter().map(Vec::as_slice)
    }
}

impl Run<'_> {
    pub(crate) fn all_rows(&self) -> RowSelection {
        RowSelection::all(self.rows.row_count())
    }

    /// Rows spread evenly over the table, about `wanted` of them for training.
    pub(crate) fn sample(&self, wanted: usize) -> RowSelection {
        self.sample_of(&self.all_rows(), wanted)
    }

    /// About `wanted` training rows of a selection, spread evenly over it.
    pub(crate) fn sample_of(&self, rows: &RowSelection, wanted: usize) -> RowSelection {
        let available = self.count_selected(rows, &[Part::Training]);
        if wanted >= available {
            RowSelection { blocks: rows.blocks.clone(), whole: false }
        } else {
            rows.thinned(wanted, available)
        }
    }

    /// Rows spread evenly over the table, about `wanted` of them in some parts.
    pub(crate) fn sample_parts(&self, parts: &[Part], wanted: usize) -> RowSelection {
        let (all, available) = (self.all_rows(), self.count_selected(&self.all_rows(), parts));
        if wanted >= available { all } else { all.thinned(wanted, available) }
    }

    /// Rows of a selection in some parts.
    pub(crate) fn count_selected(&self, rows: &RowSelection, parts: &[Part]) -> usize {
        let count = |rows: &Range<usize>| parts.iter().map(|part| self.rows.count_in(rows, *part)).sum::<usize>();
        rows.blocks.iter().flatten().map(count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn rows(selection: &RowSelection) -> HashSet<usize> {
        selection.iter().flatten().cloned().flatten().collect()
    }

    /// A leave-one-out residual is one only for a row that took part in the fit: samples of samples are nested, of the
    /// wanted size, and reach over the whole of a table that may be sorted.
    #[test]
    fn samples_are_nested_and_spread_over_the_table() {
        for row_count in [1, 15, 700, 30_000, 100_003, 500_000] {
            let all = RowSelection::all(row_count);
            assert_eq!(rows(&all).len(), row_count);
            let coarse = all.thinned(16_384.min(row_count), row_count);
            let available = rows(&coarse).len();
            let fine = coarse.thinned(4_096.min(available), available);
            assert!(rows(&fine).is_subset(&rows(&coarse)));
            let wanted = 4_096.min(row_count);
            assert!(rows(&fine).len() >= wanted.saturating_sub(STRETCH_ROWS) && rows(&fine).len() <= wanted + 64);
            for tenth in 0..10.min(row_count) {
                let range = tenth * row_count / 10..(tenth + 1) * row_count / 10;
                assert!(row_count < 700 || rows(&fine).iter().any(|row| range.contains(row)), "{row_count} {tenth}");
            }
            assert!(
                (0..fine.count()).all(|block| fine.block(block).iter().map(Range::len).sum::<usize>() <= BLOCK_ROWS)
            );
        }
    }
}
