#![allow(missing_docs)]
use bochner::linalg::*;
use bochner::solver::*;
use ndarray::*;
use std::time::Instant;
fn t<R>(name: &str, f: impl FnOnce() -> R) -> R {
    let s = Instant::now();
    let r = f();
    println!("{name:20} {:.3}", s.elapsed().as_secs_f64());
    r
}
fn main() {
    use_one_blas_thread();
    let s = 2048;
    let n = 4096;
    let mut x: Array2<f32> =
        Array2::from_shape_fn((n, s), |(i, j)| (((i * 7919 + j * 104729) % 10007) as f32 * 0.37).sin());
    let y = Array2::from_shape_fn((n, 1), |(i, _)| (i as f64 * 0.01).sin());
    for th in [1, 2] {
        let mut b = BlockGram::<f32>::new(s, 1);
        let mut g = Gram::new(s, 1);
        t("fill(4096)", || b.fill(&mut x, y.view(), None));
        t("gram add", || g.add(&b));
        t("gram add", || g.add(&b));
        t("centre", || g.centre_targets());
        let eq = t("into_normal", || g.into_normal_equations());
        let gg = t("clone", || eq.gram.clone());
        t("factor", || eq.factor(1e-4, th).unwrap());
        t("largest", || largest_eigenvalue(&eq.gram));
        t("solve_ridge", || solve_ridge(&eq, 1e-4, th).unwrap());
        let w = Array2::from_elem((s, 1), 0.3);
        t("mse", || eq.mean_squared_errors(&w));
        let band = t("reduce", || Banded::reduce(gg, th));
        let f = t("band factor", || band.factor(1e-4));
        t("band trace", || f.inverse_trace());
        let z = vec![0.1; s * 32];
        t("forms x20", || {
            for _ in 0..20 {
                f.quadratic_forms(&z);
            }
        });
        let r = band.rotation.rounded::<f32>();
        let mut zz = x.slice(s![..2048, ..]).t().as_standard_layout().into_owned();
        for c in [64, 128, 256, 512, 2048] {
            t(&format!("rotate chunks {c}"), || zz.axis_chunks_iter_mut(Axis(1), c).for_each(|z| r.rotate(z)));
        }
        t("transpose", || x.slice(s![..2048, ..]).t().as_standard_layout().into_owned());
        let m = x.slice(s![..2048, ..]).to_owned();
        t("gemm", || m.dot(&zz));
        let p = t("path", || RidgePath::new(&eq, th));
        t("point", || p.point(1e-3));
        let l: Vec<f64> = (0..20).map(|i| 10f64.powi(-i / 3)).collect();
        let loo = t("loo new", || p.leave_one_out::<f32>(&l));
        t("loo res 2048 rows x5", || {
            for _ in 0..5 {
                loo.residuals(x.slice(s![..2048, ..]), y.slice(s![..2048, ..]), None);
            }
        });
        println!();
    }
}
