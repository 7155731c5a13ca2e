//! Classifiers on features held in memory, from raw files: f32 features row by row and i32 classes.
//!
//! `cargo bench --bench classifiers -- FOLDER NAME FEATURES CLASSES LAMBDA TOLERANCE [ROWS]` reads FOLDER/NAME.f32
//! and FOLDER/NAME.y.

#![allow(clippy::unwrap_used)] // a bench may panic

use bochner::linalg::use_one_blas_thread;
use bochner::solver::{ClassRows, ClassifierSettings, FeatureBlocks, Loss, solve_classifier};
use ndarray::{Array2, ArrayView2, s};
use std::convert::Infallible;
use std::ops::Range;
use std::time::Instant;

const BLOCK_ROWS: usize = 1024;

struct Held(Array2<f32>);

impl FeatureBlocks<f32> for Held {
    type Error = Infallible;

    fn block_count(&self) -> usize {
        self.0.nrows().div_ceil(BLOCK_ROWS)
    }

    fn feature_count(&self) -> usize {
        self.0.ncols()
    }

    fn rows(&self, block: usize) -> Range<usize> {
        block * BLOCK_ROWS..((block + 1) * BLOCK_ROWS).min(self.0.nrows())
    }

    fn visit(&self, block: usize, visit: &mut dyn FnMut(ArrayView2<f32>)) -> Result<(), Infallible> {
        visit(self.0.slice(s![self.rows(block), ..]));
        Ok(())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [folder, name, features, classes, lambda, tolerance, rest @ ..] = &arguments[..] else {
        println!("skipped: no files named; see the head of benches/classifiers.rs");
        return;
    };
    use_one_blas_thread();
    let (features, class_count): (usize, usize) = (features.parse().unwrap(), classes.parse().unwrap());
    let values: Vec<f32> = read(&format!("{folder}/{name}.f32")).map(f32::from_le_bytes).collect();
    let held = Held(Array2::from_shape_vec((values.len() / features, features), values).unwrap());
    let classes: Vec<usize> =
        read(&format!("{folder}/{name}.y")).map(|bytes| i32::from_le_bytes(bytes) as usize).collect();
    let weights = vec![1.0; classes.len()];
    for loss in [Loss::Logistic, Loss::SquaredHinge, Loss::Hinge] {
        let settings = ClassifierSettings {
            loss,
            ridge: lambda.parse().unwrap(),
            tolerance: tolerance.parse().unwrap(),
            pass_limit: 2000,
            preconditioner_rows: rest.first().map(|rows| rows.parse().unwrap()),
            threads: 2,
        };
        let start = Instant::now();
        let rows = ClassRows { classes: &classes, weights: &weights, class_count };
        let solution = solve_classifier(&held, rows, &settings, None).unwrap();
        println!("{name} {loss:?} {:.2} s {:?}", start.elapsed().as_secs_f64(), solution.evidence);
    }
}

fn read(path: &str) -> impl Iterator<Item = [u8; 4]> {
    let bytes = std::fs::read(path).unwrap();
    (0..bytes.len() / 4).map(move |i| [bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
}
