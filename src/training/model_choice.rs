//! Everything that a training chooses before it fits: scaling, kernel, features, λ, and which of two learners.

use super::choose::sample_trials::settle;
use super::choose::{Chosen, choose_features};
use super::fit::choosing_rows::ChoosingRows;
use super::fit::exact_choice::ExactAlternative;
use super::fit::kernel_choice::KernelChoice;
use super::fit::lambda_choice::LambdaChoice;
use super::fit::search::CodedRows;
use super::stage::{Clock, Stage, TrainError};
use super::{Learner, OpenChoices, Resources, TrainSpec};
use crate::dataset::{Encoding, Part, Scaling, Schema};
use crate::features::{FeatureMap, Kernel};
use crate::model::{FeatureTrials, InputPipeline, LearnerChoice, MetricReport, SearchReport, Selection};
use crate::theory::PoolEvidence;

/// What is fitted, and how it was chosen.
pub(super) struct ModelChoice {
    /// With what was chosen in the place of rules.
    pub(super) spec: TrainSpec,
    pub(super) learner: Learner,
    pub(super) kernel: Kernel,
    pub(super) inputs: InputPipeline,
    /// The scaling before a metric changed it.
    pub(super) unweighted: Scaling,
    pub(super) map: FeatureMap,
    pub(super) lambda: LambdaChoice,
    pub(super) metric: Option<MetricReport>,
    pub(super) search: Option<SearchReport>,
    pub(super) candidate_seconds: Vec<f64>,
    pub(super) learner_choice: Option<LearnerChoice>,
    pub(super) trials: Option<FeatureTrials>,
    pub(super) selection: Option<Selection>,
    pub(super) pool: Option<PoolEvidence>,
}

/// The rows that are fitted, and those that choose, if they are others.
pub(super) struct ChoiceRows<'a> {
    pub(super) training: &'a ChoosingRows<'a>,
    pub(super) design: Option<&'a ChoosingRows<'a>>,
    pub(super) schema: &'a Schema,
    pub(super) encoding: &'a Encoding,
}

impl ModelChoice {
    /// For the exact learner on few rows, and where the rows choose the learner, by the errors of the exact method itself;
    /// otherwise by those of random features.
    pub(super) fn make(
        rows: &ChoiceRows,
        spec: &TrainSpec,
        resources: Resources,
        clock: &mut Clock,
    ) -> Result<Self, TrainError> {
        let few = rows.training.are_few() && rows.design.is_none();
        if spec.is_exact() && few {
            let exact = rows.training.exact_alternative(rows.encoding, spec)?;
            clock.lap(Stage::Search);
            return Self::exact(rows, spec, exact);
        }
        let features = Self::with_features(rows, spec, resources, clock)?;
        if !(few && spec.weighs_exact(rows.schema)) {
            return Ok(features);
        }
        let exact = rows.training.exact_alternative(rows.encoding, spec)?;
        let choice = rows.training.weigh(&exact, (&features.inputs, &features.map, features.lambda.lambda))?;
        clock.lap(Stage::Search);
        let kept = choice.is_some_and(|choice| choice.exact);
        let chosen = if kept { Self::exact(rows, spec, exact)? } else { features };
        Ok(Self { learner_choice: choice, ..chosen })
    }

    /// On random features.
    fn with_features(
        rows: &ChoiceRows,
        spec: &TrainSpec,
        resources: Resources,
        clock: &mut Clock,
    ) -> Result<Self, TrainError> {
        let (training, choosing) = (rows.training, rows.design.unwrap_or(rows.training));
        let learner = spec.learner_for(rows.schema.task);
        let KernelChoice { scaling, inputs, kernel, metric, unweighted, search } =
            choosing.choose_kernel(rows.encoding, spec)?;
        let (search, candidate_seconds) = search.unzip();
        let open = OpenChoices { learner: false, ..spec.open };
        let spec = &TrainSpec { scaling: Some(scaling), kernel: kernel.shape(), open, ..spec.clone() };
        clock.lap(Stage::Search);

        let count = training.run.total(Part::Training);
        let choosing_rows = CodedRows { run: &choosing.run, inputs: &inputs, coding: &choosing.targets.coding };
        let (spec, trials) = settle(&choosing_rows, spec, kernel, count)?;
        let coded = CodedRows { run: &training.run, inputs: &inputs, coding: &training.targets.coding };
        let Chosen { map, selection, pool } = choose_features(&coded, &spec, kernel)?;
        clock.lap(Stage::Choose);

        let found = search.as_ref().map(SearchReport::lambda);
        let searched = (&inputs, spec.search_map(&map), found);
        let lambda = choosing.choose_lambda(searched, (&spec, learner), count, resources)?;
        clock.lap(Stage::Search);
        Ok(Self {
            spec,
            learner,
            kernel,
            inputs,
            unweighted,
            map,
            lambda,
            metric,
            search,
            candidate_seconds: candidate_seconds.unwrap_or_default(),
            learner_choice: None,
            trials,
            selection,
            pool,
        })
    }

    /// As the exact method, whose spec names it.
    fn exact(rows: &ChoiceRows, spec: &TrainSpec, exact: ExactAlternative) -> Result<Self, TrainError> {
        let ExactAlternative {
            kernel: KernelChoice { scaling, inputs, kernel, metric, unweighted, search },
            lambda,
            ..
        } = exact;
        let spec = TrainSpec { scaling: Some(scaling), kernel: kernel.shape(), ..spec.as_exact() };
        let (search, candidate_seconds) = search.unzip();
        let coded = CodedRows { run: &rows.training.run, inputs: &inputs, coding: &rows.training.targets.coding };
        // Its features may precondition the system; the model keeps none.
        let Chosen { map, selection, pool } = choose_features(&coded, &spec, kernel)?;
        Ok(Self {
            spec,
            learner: Learner::ExactKrr,
            kernel,
            inputs,
            unweighted,
            map,
            lambda,
            metric,
            search,
            candidate_seconds: candidate_seconds.unwrap_or_default(),
            learner_choice: None,
            trials: None,
            selection,
            pool,
        })
    }
}
