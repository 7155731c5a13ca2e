//! Public tables as the papers use them: inputs scaled column by column, targets with mean 0 and largest size 1.

use super::{ReproduceError, Settings, at};
use crate::app::table_file::TableFile;
use crate::dataset::{
    ColumnMoments, ColumnOptions, ContentEncoding, CsvOptions, Rows, Scaling, ScalingRule, Task, UploadFormat,
    UploadOptions, permutation,
};
use crate::features::{Kernel, KernelShape};
use crate::training::mean_absolute_difference;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use std::fs::File;
use std::io::{Cursor, Read};

/// The column that is predicted, in every table.
const TARGET: &str = "target";

/// A table of the folder of public tables.
pub(super) fn read(settings: &Settings, name: &str, task: Task) -> Result<TableFile, ReproduceError> {
    let path = settings.data.join(format!("{name}.csv.gz"));
    let file = File::open(&path).map_err(|error| at(&path, &error))?;
    from_reader(file, name, task, ContentEncoding::Gzip).map_err(|error| at(&path, &error))
}

/// The same with labels `one` for the rows whose target is this number, and `rest`.
pub(super) fn read_one_against_rest(
    settings: &Settings,
    name: &str,
    number: &str,
) -> Result<TableFile, ReproduceError> {
    let path = settings.data.join(format!("{name}.csv.gz"));
    let mut text = String::new();
    let file = File::open(&path).map_err(|error| at(&path, &error))?;
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).map_err(|error| at(&path, &error))?;
    let recoded: Vec<String> = text.lines().enumerate().map(|(index, line)| recoded(index, line, number)).collect();
    let body = Cursor::new(recoded.join("\n"));
    from_reader(body, name, Task::Classification, ContentEncoding::Identity).map_err(|error| at(&path, &error))
}

fn recoded(index: usize, line: &str, number: &str) -> String {
    match line.rsplit_once(',') {
        Some((inputs, target)) if index > 0 => {
            let same = target.parse::<f64>().ok() == number.parse().ok();
            format!("{inputs},{}", if same { "one" } else { "rest" })
        }
        _ => line.to_owned(),
    }
}

fn from_reader(body: impl Read, name: &str, task: Task, encoding: ContentEncoding) -> Result<TableFile, String> {
    let options = UploadOptions {
        name: Some(name.to_owned()),
        target: Some(TARGET.to_owned()),
        task: Some(task),
        numeric: Vec::new(),
        columns: ColumnOptions::default(),
        format: Some(UploadFormat::Csv),
        file_name: None,
        csv: CsvOptions { delimiter: b',', header: None },
        encoding,
    };
    TableFile::read(body, &options, None).map_err(|error| error.to_string())
}

/// Scaled inputs, and one target.
pub(super) struct Numbers {
    /// n×d.
    pub(super) inputs: Array2<f64>,
    pub(super) targets: Array1<f64>,
}

impl Numbers {
    /// A numeric table. `class` makes the target 1 where it is that number and −1 elsewhere.
    pub(super) fn read(
        settings: &Settings,
        name: &str,
        class: Option<f64>,
        rule: ScalingRule,
    ) -> Result<Self, ReproduceError> {
        let file = read(settings, name, Task::Regression)?;
        let (rows, columns) = (file.table.row_count(), file.table.column_count());
        let mut cells = vec![0.0; rows * columns];
        file.table.read(0, &mut cells).map_err(|error| ReproduceError::File(format!("{name}: {error}")))?;
        let cells = Array2::from_shape_vec((rows, columns), cells)
            .map_err(|error| ReproduceError::File(format!("{name}: {error}")))?;
        let mut inputs = cells.slice(s![.., ..columns - 1]).to_owned();
        let mut targets = cells.column(columns - 1).to_owned();
        if let Some(class) = class {
            targets.mapv_inplace(|target| if target == class { 1.0 } else { -1.0 });
        }
        let mut moments = vec![ColumnMoments::EMPTY; columns - 1];
        for row in inputs.rows() {
            moments.iter_mut().zip(row).for_each(|(moments, value)| moments.observe(*value));
        }
        let scaling = Scaling::fit(rule, &moments);
        for mut row in inputs.rows_mut() {
            if let Some(row) = row.as_slice_mut() {
                scaling.apply(row);
            }
        }
        Ok(Self { inputs, targets })
    }

    /// Training and test rows at random: choice `index` under the seed of the run. The targets are centred and scaled by the
    /// training rows.
    pub(super) fn split(
        &self,
        settings: &Settings,
        index: u64,
        (training, test): (usize, usize),
    ) -> (Self, Array2<f64>) {
        let order = permutation(settings.seed, index, self.targets.len());
        let training = training.min(order.len() / 2);
        let test = test.min(order.len() - training);
        let (own, others) = (&order[..training], &order[training..training + test]);
        let mut targets = self.targets.select(Axis(0), own);
        let mean = targets.sum() / training as f64;
        targets.mapv_inplace(|target| target - mean);
        let largest = targets.iter().fold(0.0_f64, |largest, target| largest.max(target.abs()));
        targets.mapv_inplace(|target| target / largest);
        (Self { inputs: self.inputs.select(Axis(0), own), targets }, self.inputs.select(Axis(0), others))
    }
}

/// The kernel with the bandwidth of W, §6.1: the mean distance between the rows.
pub(super) fn at_mean_distance(shape: KernelShape, inputs: ArrayView2<f64>) -> Kernel {
    let columns = inputs.columns();
    let bandwidth = if shape == KernelShape::Laplace {
        columns.into_iter().map(|column| mean_absolute_difference(column.to_vec())).sum()
    } else {
        (2.0 * inputs.var_axis(Axis(0), 0.0).sum()).sqrt()
    };
    shape.with_bandwidth(bandwidth)
}
