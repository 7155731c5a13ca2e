//! Where the parts of a picture are: beside text, and on a phone.

use std::str::FromStr;

/// How wide the place is where a picture will be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// As wide as a column of text.
    Wide,
    /// As wide as a phone: letters are as large as those of a wide picture, and there is less of everything else.
    Narrow,
}

impl FromStr for Size {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "wide" => Ok(Self::Wide),
            "narrow" => Ok(Self::Narrow),
            _ => Err(()),
        }
    }
}

/// The measures of a picture, in the units of its letters of 14.
#[derive(Debug)]
pub(super) struct Canvas {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The ends of the axes.
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    /// Left of the title and of the legend.
    pub(super) margin: f64,
    /// The baseline of the first line of the title, and its class in the style.
    pub(super) title: f64,
    pub(super) title_class: &'static str,
    pub(super) title_letters: usize,
    pub(super) title_lines: usize,
    /// The baselines of a legend of one row, and of more.
    pub(super) single_legend: [f64; 1],
    pub(super) legend: &'static [f64],
    /// The middle of the label below, and most letters of the labels.
    pub(super) middle: f64,
    pub(super) across_letters: usize,
    pub(super) up_letters: usize,
    /// Most ticks across.
    pub(super) ticks: usize,
    /// Where bars begin, most letters of their names, and most of them.
    pub(super) bars: f64,
    pub(super) bar_letters: usize,
    pub(super) most_bars: usize,
    /// Where cells begin, most letters of the names of their rows, and most rows.
    pub(super) cells: f64,
    pub(super) cell_letters: usize,
    pub(super) most_cells: usize,
}

const WIDE: Canvas = Canvas {
    width: 760.0,
    height: 440.0,
    left: 100.0,
    right: 736.0,
    top: 84.0,
    bottom: 380.0,
    margin: 20.0,
    title: 32.0,
    title_class: "title",
    title_letters: 62,
    title_lines: 1,
    single_legend: [62.0],
    legend: &[54.0, 74.0],
    middle: 418.0,
    across_letters: 72,
    up_letters: 42,
    ticks: 8,
    bars: 220.0,
    bar_letters: 22,
    most_bars: 18,
    cells: 190.0,
    cell_letters: 18,
    most_cells: 12,
};

const NARROW: Canvas = Canvas {
    width: 400.0,
    height: 400.0,
    left: 99.0,
    right: 386.0,
    top: 112.0,
    bottom: 340.0,
    margin: 12.0,
    title: 24.0,
    title_class: "title small",
    title_letters: 36,
    title_lines: 2,
    single_legend: [66.0],
    legend: &[64.0, 83.0, 102.0],
    middle: 200.0,
    across_letters: 46,
    up_letters: 36,
    ticks: 4,
    bars: 140.0,
    bar_letters: 14,
    most_bars: 12,
    cells: 110.0,
    cell_letters: 11,
    most_cells: 7,
};

impl Canvas {
    pub(super) fn of(size: Size) -> &'static Self {
        match size {
            Size::Wide => &WIDE,
            Size::Narrow => &NARROW,
        }
    }
}
