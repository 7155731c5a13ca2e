//! What scaling, kernel and λ were chosen from. Files have it only where the evidence cannot say it: other files tell
//! it by their spec.

use crate::model::FitReport;
use crate::theory::Choices;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredChoices {
    choices: StoredChoice,
    pub(in crate::model::artifact) design_rows: usize,
}

#[derive(Serialize, Deserialize)]
enum StoredChoice {
    DesignRows,
    List { kernels: usize, lambdas: usize },
    Targets,
}

impl StoredChoices {
    /// None where the evidence and the spec say it.
    pub(in crate::model::artifact) fn of(choices: Choices, design_rows: usize) -> Option<Self> {
        let choices = match choices {
            Choices::FromDesignRows => StoredChoice::DesignRows,
            Choices::FromList { kernels, lambdas } => StoredChoice::List { kernels, lambdas },
            Choices::FromTargets => StoredChoice::Targets,
            Choices::FixedInAdvance | Choices::FromInputs | Choices::FromDraws => return None,
        };
        Some(Self { choices, design_rows })
    }

    pub(in crate::model::artifact) fn choices(&self) -> Choices {
        match self.choices {
            StoredChoice::DesignRows => Choices::FromDesignRows,
            StoredChoice::List { kernels, lambdas } => Choices::FromList { kernels, lambdas },
            StoredChoice::Targets => Choices::FromTargets,
        }
    }
}

/// The choices of a file without that section, whose searches used the draws of the model. `fixed` is what its evidence
/// says.
pub(in crate::model::artifact) fn choices_by_spec(fixed: bool, spec: &str, report: &FitReport) -> Choices {
    if fixed && report.filled_cells == 0 {
        Choices::FixedInAdvance
    } else if fixed || !searches(spec) {
        Choices::FromInputs
    } else {
        Choices::FromDraws
    }
}

/// Whether a spec lets the targets decide λ, the bandwidth or the scaling. A spec that cannot be read is taken to.
fn searches(spec: &str) -> bool {
    let spec: serde_json::Value = serde_json::from_str(spec).unwrap_or_default();
    let searched = [&spec["lambda"], &spec["scaling"], &spec["kernel"]["bandwidth"]];
    spec["lambda"].is_null() || searched.iter().any(|choice| *choice == "search")
}
