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
use crate::dataset::{Encoding, Part, Schema};
use crate::model::{FeatureTrials, LearnerChoice};

/// What is fitted, and how it was chosen.
pub(super) struct ModelChoice {
    /// With what was chosen in the place of rules.
    pub(super) spec: TrainSpec,
    pub(super) learner: Learner,
    pub(super) kernel: KernelChoice,
    pub(super) features: Chosen,
    pub(super) lambda: LambdaChoice,
    pub(super) learner_choice: Option<LearnerChoice>,
    pub(super) trials: Option<FeatureTrials>,
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
        let candidate = Self::with_features(rows, spec, resources, clock)?;
        if !(few && spec.weighs_exact(rows.schema)) {
            return Ok(candidate);
        }
        let exact = rows.training.exact_alternative(rows.encoding, spec)?;
        let by_features = (&candidate.kernel.inputs, &candidate.features.map, candidate.lambda.lambda);
        let choice = rows.training.weigh(&exact, by_features)?;
        clock.lap(Stage::Search);
        let kept = choice.is_some_and(|choice| choice.exact);
        let chosen = if kept { Self::exact(rows, spec, exact)? } else { candidate };
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
        let kernel = choosing.choose_kernel(rows.encoding, spec)?;
        let inputs = &kernel.inputs;
        let open = OpenChoices { learner: false, ..spec.open };
        let spec = &TrainSpec { open, ..with_kernel(spec.clone(), &kernel) };
        clock.lap(Stage::Search);

        let count = training.run.total(Part::Training);
        let choosing_rows = CodedRows { run: &choosing.run, inputs, coding: &choosing.targets.coding };
        let (spec, trials) = settle(&choosing_rows, spec, kernel.kernel, count)?;
        let coded = CodedRows { run: &training.run, inputs, coding: &training.targets.coding };
        let features = choose_features(&coded, &spec, kernel.kernel)?;
        clock.lap(Stage::Choose);

        let found = kernel.search.as_ref().map(|(report, _)| report.lambda());
        let searched = (inputs, spec.search_map(&features.map), found);
        let lambda = choosing.choose_lambda(searched, (&spec, learner), count, resources)?;
        clock.lap(Stage::Search);
        Ok(Self { spec, learner, kernel, features, lambda, learner_choice: None, trials })
    }

    /// As the exact method, whose spec names it.
    fn exact(rows: &ChoiceRows, spec: &TrainSpec, exact: ExactAlternative) -> Result<Self, TrainError> {
        let ExactAlternative { kernel, lambda, .. } = exact;
        let spec = with_kernel(spec.as_exact(), &kernel);
        let coding = &rows.training.targets.coding;
        let coded = CodedRows { run: &rows.training.run, inputs: &kernel.inputs, coding };
        // Its features may precondition the system; the model keeps none.
        let features = choose_features(&coded, &spec, kernel.kernel)?;
        Ok(Self { spec, learner: Learner::ExactKrr, kernel, features, lambda, learner_choice: None, trials: None })
    }
}

/// The spec with the scaling and the kernel that were chosen.
fn with_kernel(spec: TrainSpec, chosen: &KernelChoice) -> TrainSpec {
    TrainSpec { scaling: Some(chosen.scaling), kernel: chosen.kernel.shape(), ..spec }
}
