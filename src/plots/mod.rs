//! Numbers in, SVG out. No model types.

/// Ticks and positions of an axis.
mod axis;

/// Where the parts of a picture are.
mod canvas;

/// Bars without axes, for tables.
mod mini_bars;

/// Curves without axes, for sliders.
mod mini_curve;

/// Points and lines over two axes, with intervals.
mod xy_chart;

/// Named bars.
mod bar_chart;

/// Coloured cells.
mod matrix_chart;

/// A plot as picture, table and JSON.
mod plot;

/// The look that charts share.
mod style;

/// Text that is safe inside SVG.
mod markup;

pub use axis::{Axis, Scale};
pub use bar_chart::{Bar, BarChart};
pub use canvas::Size;
pub use markup::number as short_number;
pub use matrix_chart::MatrixChart;
pub use mini_bars::mini_bars;
pub use mini_curve::mini_curve;
pub use plot::Plot;
pub use xy_chart::{Drawing, Spot, Trace, XyChart};
