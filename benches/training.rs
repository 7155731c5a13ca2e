//! Full ridge training against the f32 `syrk` it contains, the limit of the hardware, in one run.
//!
//! `cargo bench --bench training`

use bochner::dataset::{Rows, RowsInMemory};
use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::linalg::{Real, use_one_blas_thread};
use bochner::solver::in_order;
use ndarray::Array2;
use serde_json::json;
use std::time::Instant;
use synthetic::{Synthetic, fit};

mod synthetic;
mod trainer;

const BLOCK_ROWS: usize = 2048;
const ROUNDS: usize = 7;

fn main() {
    use_one_blas_thread();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut halves = None;
    for (n, d, s) in [(50_000, 90, 2_048), (100_000, 90, 2_048), (100_000, 8, 1_024)] {
        let table = held(&Synthetic { n, d });
        let block = Array2::from_shape_fn((BLOCK_ROWS, s), |(i, j)| ((i * 7 + j * 13) as f32).cos() / 32.0);
        // Turn by turn, and the median over the rounds of times and of ratios within a round: on a shared
        // machine the speed drifts, for all of them together.
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let turns: [&dyn Fn(); 5] = [
                &|| syrk_alone(&block, n, threads),
                &|| features_alone(n, d, s, threads),
                &|| drop(fit(&table, s, threads, &json!(1e-4), false)),
                &|| drop(fit(&table, s, threads, &json!("search"), false)),
                &|| drop(fit(&table, s, threads, &json!(1e-4), true)),
            ];
            rounds.push(turns.map(seconds));
        }
        let time = |turn: usize| median(rounds.iter().map(|round| round[turn]));
        let ratio = |turn: usize, to: usize| median(rounds.iter().map(|round| round[turn] / round[to]));
        let [limit, features, single, searched, with_bars] = [0, 1, 2, 3, 4].map(time);
        println!("n = {n}, d = {d}, s = {s}, threads = {threads}");
        println!("  f32 syrk alone     {limit:7.2} s   1.00");
        println!("  features alone     {features:7.2} s   {:.2}", ratio(1, 0));
        println!("  training, one λ    {single:7.2} s   {:.2}", ratio(2, 0));
        println!("  training, λ search {searched:7.2} s   {:.2}   {:.2} single fits", ratio(3, 0), ratio(3, 2));
        println!("  one λ, error bars  {with_bars:7.2} s   {:.2}   {:.2} single fits", ratio(4, 0), ratio(4, 2));
        match halves {
            Some((half, of_n, of_shape)) if 2 * of_n == n && of_shape == (d, s) => {
                println!("  twice the rows of the run before, {:.2} times its time at one λ", single / half);
            }
            _ => {}
        }
        halves = Some((single, n, (d, s)));
    }
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn seconds(work: &dyn Fn()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// On a block for each thread and on numbers like those of features: constant ones run faster.
fn syrk_alone(block: &Array2<f32>, n: usize, threads: usize) {
    let s = block.ncols();
    let run = |_: usize, (block, gram): &mut (Array2<f32>, Array2<f32>)| -> Result<(), ()> {
        f32::rank_update(block.view(), gram);
        Ok(())
    };
    let scratch = || (block.clone(), Array2::zeros((s, s)));
    let done = in_order(threads, n.div_ceil(BLOCK_ROWS), scratch, run, (), |_, _, ()| Ok(()));
    assert!(done.is_ok());
}

fn features_alone(n: usize, d: usize, s: usize, threads: usize) {
    let kernel = Kernel::Gaussian { bandwidth: (2.0 * d as f64).sqrt() };
    let projector = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, 0, s, d).projector::<f32>();
    let inputs = Array2::<f64>::from_elem((BLOCK_ROWS, d), 0.3);
    let run = |_: usize, (): &mut ()| -> Result<(), ()> {
        projector.transform_by(inputs.view(), 4, |_, features| {
            std::hint::black_box(features);
        });
        Ok(())
    };
    let done = in_order(threads, n.div_ceil(BLOCK_ROWS), || (), run, (), |_, (), ()| Ok(()));
    assert!(done.is_ok());
}

/// The same rows held in memory, so that making them is not part of what is measured.
fn held(rows: &Synthetic) -> RowsInMemory {
    let columns = rows.column_count();
    let mut cells = vec![0.0; rows.n * columns];
    rows.read(0, &mut cells).expect("rows are made on the fly");
    RowsInMemory { cells, columns }
}
