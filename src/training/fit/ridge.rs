//! From row blocks to weights: accumulate, choose λ, solve.

use super::search::{FitProblem, Searched, lambda_grid};
use crate::dataset::Part;
use crate::features::{FeatureMap, Precision};
use crate::model::{ErrorBars, RidgeReport, SolverReport, Spread, Statistics, TargetCoding};
use crate::solver::{
    Gram, Leverage, NormalEquations, PackedGram, RidgePath, SolveError, jackknife_weights, solve_ridge,
};
use crate::theory::spectrum::ridges_around;
use crate::theory::{ExactEvidence, KernelEvidence};
use crate::training::TrainSpec;
use crate::training::rows::classes::check_total_weight;
use crate::training::stage::{Clock, Stage, TrainError};
use ndarray::{Array1, Array2};

/// Groups of draws that error bars leave out in turn.
const JACKKNIFE_GROUPS: usize = 10;

/// Features up to which the spectrum of G is kept: its eigenvalues take longer than the whole fit beyond.
const SPECTRUM_FEATURES: usize = 1_024;

/// Features up to which leverages are: they take the eigenvectors, three times the time of the eigenvalues.
const LEVERAGE_FEATURES: usize = 512;

/// Weights in the units of the targets, and how they came about.
pub(crate) struct Fit {
    pub(crate) weights: Array2<f64>,
    pub(crate) intercepts: Vec<f64>,
    pub(crate) lambda: f64,
    pub(crate) precision: Precision,
    /// Whether the best λ is the smallest that was tried.
    pub(crate) best_is_smallest: bool,
    pub(crate) solver: SolverReport,
    /// Of each target of a ridge fit.
    pub(crate) training_mse: Vec<f64>,
    /// Of the centred targets of a ridge fit, summed.
    pub(crate) target_mean_square: Option<f64>,
    pub(crate) spread: Option<Spread>,
    pub(crate) error_bars: Option<ErrorBars>,
    /// μ of G, descending, of a ridge fit with few enough features.
    pub(crate) spectrum: Option<Vec<f64>>,
    /// (λ, F̂∞) around the λ of a ridge fit with fewer features still.
    pub(crate) leverages: Option<Leverages>,
    pub(crate) statistics: Option<Statistics>,
    /// Of an exact fit.
    pub(crate) exact: Option<ExactEvidence>,
    /// Of an exact fit of few enough rows.
    pub(crate) kernel: Option<KernelEvidence>,
}

/// Accumulates and solves: once at a given λ; where λ is searched for, in mixed precision first, and
/// in f64 if the best λ is too small for that.
pub(crate) fn fit(
    problem: &FitProblem,
    spec: &TrainSpec,
    map: &FeatureMap,
    clock: &mut Clock,
) -> Result<Fit, TrainError> {
    let given = spec.resolve_lambda(problem.run.rows.count(Part::Training));
    let mut precision = Precision::for_ridge(given.unwrap_or(1.0), spec.map.bound(spec.kernel));
    loop {
        let gram = problem.accumulate(map, precision)?;
        clock.lap(Stage::Accumulate);
        problem.run.tick(Stage::Solve, 0.0)?;
        let system = System::new(gram, problem.coding, spec)?;
        let searched = match given {
            Some(_) => None,
            None => Some(system.search(problem, map, precision)?),
        };
        // The exact system is solved on tiles in f32, so it gains nothing from a λ that is too small for them.
        let smaller = precision == Precision::Mixed && !spec.is_exact();
        if smaller && searched.as_ref().is_some_and(|(_, found)| found.is_at_the_small_end()) {
            precision = Precision::Double;
            clock.lap(Stage::Solve);
            continue;
        }
        let fit = system.solve(problem, given, searched, precision, spec)?;
        clock.lap(Stage::Solve);
        return Ok(fit);
    }
}

/// Adds the rows of `problem` to those of an earlier fit and solves for all of them. No row of the
/// earlier fit is needed, so a λ to be searched for is chosen by GCV.
pub(crate) fn refit(
    problem: &FitProblem,
    spec: &TrainSpec,
    map: &FeatureMap,
    earlier: &PackedGram,
    precision: Precision,
    clock: &mut Clock,
) -> Result<Fit, TrainError> {
    let mut gram = problem.accumulate(map, precision)?;
    gram.merge(earlier);
    clock.lap(Stage::Accumulate);
    problem.run.tick(Stage::Solve, 0.0)?;
    let system = System::new(gram, problem.coding, spec)?;
    let given = spec.resolve_lambda(system.equations.sample_count);
    let searched = if given.is_none() {
        let lambdas = lambda_grid(precision, map.kind.bound(map.kernel.shape()));
        let path = RidgePath::new(&system.equations, problem.run.threads);
        let found = Searched::by_gcv(&path, &lambdas)?;
        Some((path, found))
    } else {
        None
    };
    let fit = system.solve(problem, given, searched, precision, spec)?;
    clock.lap(Stage::Solve);
    Ok(fit)
}

impl FitProblem<'_> {
    fn accumulate(&self, map: &FeatureMap, precision: Precision) -> Result<Gram, TrainError> {
        let blocks = self.run.all_blocks();
        let tick = |done| self.run.tick(Stage::Accumulate, done);
        match precision {
            Precision::Mixed => self.run.accumulate::<f32>(&blocks, self.inputs, map, self.coding, tick),
            Precision::Double => self.run.accumulate::<f64>(&blocks, self.inputs, map, self.coding, tick),
        }
    }
}

/// The normal equations of centred targets.
struct System {
    equations: NormalEquations,
    /// What was taken off the coded targets.
    target_mean: Array1<f64>,
    statistics: Option<Statistics>,
}

impl System {
    fn new(mut gram: Gram, coding: &TargetCoding, spec: &TrainSpec) -> Result<Self, TrainError> {
        check_total_weight(gram.weight(), "training")?;
        let statistics = spec.updatable.then(|| Statistics { gram: gram.pack(), coding: coding.clone() });
        let target_mean = gram.centre_targets();
        Ok(Self { equations: gram.into_normal_equations(), target_mean, statistics })
    }

    fn search(
        &self,
        problem: &FitProblem,
        map: &FeatureMap,
        precision: Precision,
    ) -> Result<(RidgePath, Searched), TrainError> {
        let path = RidgePath::new(&self.equations, problem.run.threads);
        let lambdas = lambda_grid(precision, map.kind.bound(map.kernel.shape()));
        let fitted = (&problem.run.all_blocks(), &self.target_mean);
        let found = match precision {
            Precision::Mixed => problem.search_lambda::<f32>(map, &path, fitted, &lambdas)?,
            Precision::Double => problem.search_lambda::<f64>(map, &path, fitted, &lambdas)?,
        };
        Ok((path, found))
    }

    fn solve(
        self,
        problem: &FitProblem,
        given: Option<f64>,
        searched: Option<(RidgePath, Searched)>,
        precision: Precision,
        spec: &TrainSpec,
    ) -> Result<Fit, TrainError> {
        let (coding, threads) = (problem.coding, problem.run.threads);
        let best = searched.as_ref().map(|(_, searched)| *searched.best());
        let lambda = given.or(best.map(|best| best.lambda)).unwrap_or(1.0);
        let solution = match &searched {
            Some((path, _)) => path.solution(&self.equations, lambda, threads)?,
            None => solve_ridge(&self.equations, lambda, threads)?,
        };
        let searched = searched.map(|(_, searched)| searched);
        // Of labels the mean of the bars alone is kept, which costs the model nothing.
        let wants_bars = spec.error_bars || matches!(coding, TargetCoding::Classes { .. });
        let training_mse = coding.decode_squares(&self.equations.mean_squared_errors(&solution.weights));
        let draws = spec.feature_count / spec.map.columns_per_draw();
        let (spectrum, leverages) = self.spectrum(lambda, draws)?;
        Ok(Fit {
            weights: coding.decode_weights(&solution.weights),
            intercepts: coding.decode_means(&self.target_mean),
            lambda,
            precision,
            best_is_smallest: searched.as_ref().is_some_and(Searched::is_at_the_small_end),
            solver: SolverReport::Ridge(RidgeReport {
                method: solution.method,
                relative_residual: solution.relative_residual,
                condition: solution.condition,
                loo_mse: best.and_then(|best| best.loo_mse),
                loo_rows: searched.as_ref().map_or(0, |searched| searched.loo_rows),
                effective_dimension: best.map(|best| best.effective_dimension),
                lambda_path: searched.map_or(Vec::new(), |searched| searched.points),
            }),
            target_mean_square: Some(coding.decode_squares(&self.equations.target_mean_square).iter().sum()),
            error_bars: if wants_bars { self.error_bars(coding, lambda, spec, threads) } else { None },
            spectrum,
            leverages,
            // Where rounding leaves nothing to factor there is none, and the report warns of it.
            spread: spec.spread.then(|| spread(&self.equations, lambda, &training_mse, threads)).flatten(),
            training_mse,
            statistics: self.statistics,
            exact: None,
            kernel: None,
        })
    }
}

impl System {
    /// Weights without each group of draws, in the units of the targets.
    fn error_bars(&self, coding: &TargetCoding, lambda: f64, spec: &TrainSpec, threads: usize) -> Option<ErrorBars> {
        let draws = spec.feature_count / spec.map.columns_per_draw();
        // Where rounding leaves nothing to factor there are no error bars, and no harm is done.
        let without =
            jackknife_weights(&self.equations, lambda, (draws, JACKKNIFE_GROUPS), threads).unwrap_or_default();
        let without: Vec<Array2<f64>> = without.iter().map(|weights| coding.decode_weights(weights)).collect();
        let finite = without.iter().flatten().all(|weight| weight.is_finite());
        ErrorBars::new(&without).filter(|_| finite)
    }

    /// What is cheap enough of the eigenvalues of G and of the leverages.
    fn spectrum(&self, lambda: f64, draws: usize) -> Result<(Option<Vec<f64>>, Option<Leverages>), TrainError> {
        let count = self.equations.mean_feature.len();
        if count > SPECTRUM_FEATURES {
            return Ok((None, None));
        }
        if count > LEVERAGE_FEATURES {
            return Ok((Some(self.equations.spectrum().map_err(SolveError::from)?), None));
        }
        let leverage = Leverage::new(&self.equations).map_err(SolveError::from)?;
        Ok((Some(leverage.spectrum()), Some(leverages(&leverage, lambda, draws))))
    }
}

/// (λ, F̂∞).
type Leverages = Vec<(f64, f64)>;

/// F̂∞ over a decade to each side of λ.
pub(crate) fn leverages(leverage: &Leverage, lambda: f64, draws: usize) -> Leverages {
    ridges_around(lambda).into_iter().map(|ridge| (ridge, leverage.largest(ridge, draws))).collect()
}

/// What the predictive spread needs: tr H = s − λ·tr(G+λI)⁻¹, σ̂² = n·MSE/(n − tr H), and the factor.
fn spread(equations: &NormalEquations, lambda: f64, training_mse: &[f64], threads: usize) -> Option<Spread> {
    let factor = equations.factor(lambda, threads).ok()?;
    let (n, s) = (equations.sample_count as f64, equations.mean_feature.len() as f64);
    let effective_dimension = s - lambda * factor.inverse_trace();
    let inflation = n / (n - effective_dimension).max(1.0);
    Some(Spread {
        noise_variances: training_mse.iter().map(|error| error * inflation).collect(),
        sample_count: equations.sample_count,
        factor: factor.lower_rows(),
    })
}
