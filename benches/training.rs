//! Full ridge training against the f32 `syrk` it contains, the limit of the hardware, in one run.
//!
//! `cargo bench --bench training`

use bochner::dataset::Rows;
use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::linalg::{Real, use_one_blas_thread};
use bochner::solver::in_order;
use ndarray::Array2;
use serde_json::json;
use std::time::Instant;
use synthetic::{Synthetic, fit};

mod synthetic;

const BLOCK_ROWS: usize = 2048;
const ROUNDS: usize = 4;

fn main() {
    use_one_blas_thread();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut halves = None;
    for (n, d, s) in [(50_000, 90, 2_048), (100_000, 90, 2_048), (100_000, 8, 1_024)] {
        let table = InMemory::of(&Synthetic { n, d });
        // Turn by turn and the best of each: these machines are shared.
        let mut best = [f64::INFINITY; 4];
        for _ in 0..ROUNDS {
            let turns: [&dyn Fn(); 4] = [
                &|| syrk_alone(n, s, threads),
                &|| features_alone(n, d, s, threads),
                &|| drop(fit(&table, s, threads, &json!(1e-4))),
                &|| drop(fit(&table, s, threads, &json!("search"))),
            ];
            for (best, turn) in best.iter_mut().zip(turns) {
                *best = best.min(seconds(turn));
            }
        }
        let [limit, features, single, searched] = best;
        println!("n = {n}, d = {d}, s = {s}, threads = {threads}");
        println!("  f32 syrk alone     {limit:7.2} s   1.00");
        println!("  features alone     {features:7.2} s   {:.2}", features / limit);
        println!("  training, one λ    {single:7.2} s   {:.2}", single / limit);
        println!(
            "  training, λ search {searched:7.2} s   {:.2}   {:.2} single fits",
            searched / limit,
            searched / single
        );
        match halves {
            Some((half, of_n, of_shape)) if 2 * of_n == n && of_shape == (d, s) => {
                println!("  twice the rows of the run before, {:.2} times its time at one λ", single / half);
            }
            _ => {}
        }
        halves = Some((single, n, (d, s)));
    }
}

fn seconds(work: &dyn Fn()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn syrk_alone(n: usize, s: usize, threads: usize) {
    let block = Array2::<f32>::from_elem((BLOCK_ROWS, s), 0.01);
    let run = |_: usize, gram: &mut Array2<f32>| -> Result<(), ()> {
        f32::rank_update(block.view(), gram);
        Ok(())
    };
    let done = in_order(threads, n.div_ceil(BLOCK_ROWS), || Array2::zeros((s, s)), run, (), |_, _, ()| Ok(()));
    assert!(done.is_ok());
}

fn features_alone(n: usize, d: usize, s: usize, threads: usize) {
    let kernel = Kernel::Gaussian { bandwidth: (2.0 * d as f64).sqrt() };
    let projector = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, 0, s, d).projector::<f32>();
    let inputs = Array2::<f64>::from_elem((BLOCK_ROWS, d), 0.3);
    let run = |_: usize, (): &mut ()| -> Result<(), ()> {
        std::hint::black_box(projector.transform(inputs.view()));
        Ok(())
    };
    let done = in_order(threads, n.div_ceil(BLOCK_ROWS), || (), run, (), |_, (), ()| Ok(()));
    assert!(done.is_ok());
}

/// The same rows held in memory, so that making them is not part of what is measured.
struct InMemory {
    cells: Vec<f64>,
    columns: usize,
}

impl InMemory {
    fn of(rows: &Synthetic) -> Self {
        let columns = rows.column_count();
        let mut cells = vec![0.0; rows.n * columns];
        rows.read(0, &mut cells).expect("rows are made on the fly");
        Self { cells, columns }
    }
}

impl Rows for InMemory {
    fn row_count(&self) -> usize {
        self.cells.len() / self.columns
    }

    fn column_count(&self) -> usize {
        self.columns
    }

    fn read(&self, first: usize, cells: &mut [f64]) -> std::io::Result<()> {
        let start = first * self.columns;
        cells.copy_from_slice(&self.cells[start..start + cells.len()]);
        Ok(())
    }
}
