//! From row blocks to weights: accumulate, choose λ, solve.

use super::lambda_choice::LambdaChoice;
use super::search::{CodedRows, Searched};
use super::{Fit, Learned, RidgeFit};
use crate::dataset::Part;
use crate::features::{FeatureMap, Precision};
use crate::model::{ErrorBars, RidgeReport, Spread, Statistics, TargetCoding};
use crate::solver::{
    Gram, Leverage, NormalEquations, PackedGram, RidgePath, RidgeSolution, SolveError, jackknife_weights, solve_ridge,
};
use crate::theory::spectrum::ridges_around;
use crate::training::TrainSpec;
use crate::training::rows::classes::check_total_weight;
use crate::training::spec::grids::lambda_grid;
use crate::training::stage::{Clock, Stage, TrainError};
use ndarray::{Array1, Array2};

/// Groups of draws that error bars leave out in turn.
const JACKKNIFE_GROUPS: usize = 10;

/// Features up to which the spectrum of G is kept: its eigenvalues take longer than the whole fit beyond.
const SPECTRUM_FEATURES: usize = 1_024;

/// Features up to which leverages are: they take the eigenvectors, three times the time of the eigenvalues.
const LEVERAGE_FEATURES: usize = 512;

/// Accumulates and solves at the λ that was chosen.
pub(crate) fn fit(
    rows: &CodedRows,
    spec: &TrainSpec,
    map: FeatureMap,
    choice: LambdaChoice,
    clock: &mut Clock,
) -> Result<Fit, TrainError> {
    let precision = Precision::for_ridge(choice.lambda, map.bound());
    let gram = rows.accumulate(&map, precision)?;
    clock.lap(Stage::Accumulate);
    rows.run.tick(Stage::Solve, 0.0)?;
    let system = System::new(gram, rows.coding, spec)?;
    let solution = solve_ridge(&system.equations, choice.lambda, rows.run.threads)?;
    let fit = system.describe(rows, map, (choice, solution), precision, spec)?;
    clock.lap(Stage::Solve);
    Ok(fit)
}

/// Adds rows to those of an earlier fit and solves for all of them. No row of the
/// earlier fit is needed, so a λ that is not `given` is chosen by GCV.
pub(crate) fn refit(
    rows: &CodedRows,
    spec: &TrainSpec,
    (map, precision): (FeatureMap, Precision),
    earlier: &PackedGram,
    given: impl FnOnce(usize) -> Option<f64>,
    clock: &mut Clock,
) -> Result<Fit, TrainError> {
    let mut gram = rows.accumulate(&map, precision)?;
    gram.merge(earlier);
    clock.lap(Stage::Accumulate);
    rows.run.tick(Stage::Solve, 0.0)?;
    let system = System::new(gram, rows.coding, spec)?;
    let threads = rows.run.threads;
    let solved = if let Some(lambda) = given(system.equations.sample_count) {
        (LambdaChoice::given(lambda), solve_ridge(&system.equations, lambda, threads)?)
    } else {
        let lambdas = lambda_grid(precision, map.bound());
        let path = RidgePath::new(&system.equations, threads);
        let choice = LambdaChoice::best_of(Searched::by_gcv(&path, &lambdas)?);
        let solution = path.solution(&system.equations, choice.lambda, threads)?;
        (choice, solution)
    };
    let fit = system.describe(rows, map, solved, precision, spec)?;
    clock.lap(Stage::Solve);
    Ok(fit)
}

impl CodedRows<'_> {
    fn accumulate(&self, map: &FeatureMap, precision: Precision) -> Result<Gram, TrainError> {
        let tick = |done| self.run.tick(Stage::Accumulate, done);
        self.run.accumulate(&self.run.all_rows(), self.inputs, (map, precision), self.coding, tick)
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

    /// The fit of a solution at the λ that was chosen.
    fn describe(
        self,
        rows: &CodedRows,
        map: FeatureMap,
        (choice, solution): (LambdaChoice, RidgeSolution),
        precision: Precision,
        spec: &TrainSpec,
    ) -> Result<Fit, TrainError> {
        let (coding, threads) = (rows.coding, rows.run.threads);
        let LambdaChoice { lambda, best_is_smallest, searched, .. } = choice;
        let best = searched.as_ref().map(|searched| *searched.best());
        // A classifier keeps only the mean of the bars, which costs nothing.
        let wants_bars = spec.error_bars || matches!(coding, TargetCoding::Classes { .. });
        let training_mse = coding.decode_squares(&self.equations.mean_squared_errors(&solution.weights));
        let draws = spec.feature_count / spec.map.columns_per_draw();
        let (spectrum, leverages) = self.spectrum(lambda, draws)?;
        let without = if wants_bars { self.without_groups(rows, &map, lambda)? } else { None };
        let (error_bars, feature_leverage) = without.unzip();
        let report = RidgeReport {
            method: solution.method,
            relative_residual: solution.relative_residual,
            condition: solution.condition,
            loo_mse: best.and_then(|best| best.loo_mse),
            loo_rows: searched.as_ref().map_or(0, |searched| searched.loo_rows),
            effective_dimension: best.map(|best| best.effective_dimension),
            lambda_path: searched.map_or(Vec::new(), |searched| searched.points),
        };
        Ok(Fit {
            map,
            weights: coding.decode_weights(&solution.weights),
            intercepts: coding.decode_means(&self.target_mean),
            lambda,
            precision,
            best_is_smallest,
            learned: Learned::Ridge(RidgeFit {
                report,
                target_mean_square: coding.decode_squares(&self.equations.target_mean_square).iter().sum(),
                error_bars,
                feature_leverage,
                spectrum,
                leverages,
                // None where rounding leaves nothing to factor; the report then warns.
                spread: spec.spread.then(|| spread(&self.equations, lambda, &training_mse, threads)).flatten(),
                training_mse,
                statistics: self.statistics,
            }),
        })
    }
}

impl System {
    /// Weights without each group of draws, in the units of the targets, and the leverage of the features.
    /// None where rounding leaves nothing to factor.
    fn without_groups(
        &self,
        rows: &CodedRows,
        map: &FeatureMap,
        lambda: f64,
    ) -> Result<Option<(ErrorBars, f64)>, TrainError> {
        let (coding, run) = (rows.coding, rows.run);
        // An update has sums of rows that are not at hand.
        let at_hand = run.has_fewer_rows_than(map.feature_count())
            && run.rows.count(Part::Training) == self.equations.sample_count;
        let found = if at_hand {
            rows.jackknife_by_rows(map, lambda, JACKKNIFE_GROUPS)?
        } else {
            let groups = (map.draw_count(), JACKKNIFE_GROUPS);
            jackknife_weights(&self.equations, lambda, groups, run.threads).unwrap_or_default()
        };
        let without: Vec<Array2<f64>> = found.weights.iter().map(|weights| coding.decode_weights(weights)).collect();
        let finite = without.iter().flatten().all(|weight| weight.is_finite());
        Ok(ErrorBars::new(&without).filter(|_| finite).map(|bars| (bars, found.leverage)))
    }

    /// The eigenvalues of G and the leverages, as far as they are cheap enough.
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
