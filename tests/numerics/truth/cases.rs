//! What is trained: one spec for each number.

use super::tables::{Table, uniform};
use bochner::dataset::{Column, ColumnKind, HeldOut, Part, RowsInMemory, Schema, Task, split};
use bochner::model::FittedModel;
use bochner::training::{Resources, SpecLimits, TrainError, TrainSpec, Unwatched, train};
use serde_json::{Value, json};

/// Rows that are trained on, in all parts together.
const ROWS: usize = 420;

/// New rows that statements are compared with.
pub(crate) const NEW_ROWS: usize = 900;

/// A spec and what is done to the table.
pub(crate) struct Case {
    pub(crate) spec: Value,
    /// Every seventh row has no target.
    unlabelled: bool,
    /// Every ninth cell is missing.
    holes: bool,
    targets: usize,
}

/// A trained model with the rows that it was fitted on.
#[derive(Clone)]
pub(crate) struct Trained {
    pub(crate) model: FittedModel,
    /// Row numbers of the table.
    pub(crate) fitted: Vec<usize>,
    pub(crate) validation: Vec<usize>,
    /// The cells of each row as the model gets them.
    pub(crate) cells: Vec<Vec<f64>>,
}

impl Case {
    /// The options of each field go round at steps that have no common factor, so that all pairs meet.
    pub(crate) fn number(index: usize) -> Self {
        let seed = index as u64;
        let pick = |options: &[Value], stream: u64| {
            options[(uniform(100 + stream, seed) * options.len() as f64) as usize].clone()
        };
        let (plain, fixed) = (json!("plain"), json!(1.5));
        let kernels = [
            json!({"name": "gaussian"}),
            json!({"name": "gaussian"}),
            json!({"name": "laplace"}),
            json!({"name": "matern", "nu": 1.5}),
            json!({"name": "cauchy"}),
            json!({"name": "angular"}),
        ];
        let mut kernel = kernels[index % kernels.len()].clone();
        let isotropic = kernel["name"] == "gaussian" || kernel["name"] == "matern";
        let sampling = match pick(
            &[plain.clone(), plain.clone(), json!("orthogonal"), json!("structured"), json!("quasi_monte_carlo")],
            1,
        ) {
            special if special == "orthogonal" || special == "structured" => {
                if isotropic {
                    special
                } else {
                    plain
                }
            }
            other => other,
        };
        if kernel["name"] != "angular" {
            kernel["bandwidth"] = pick(
                &[json!("mean_distance"), json!("median"), json!("search"), json!("grid"), fixed.clone(), fixed],
                2,
            );
        }
        let lambdas = [
            json!(1e-12),
            json!(1e-9),
            json!(1e-6),
            json!(1e-4),
            json!(1e-3),
            json!(0.01),
            json!(0.1),
            json!(0.3),
            json!(1.0),
            json!(1.0),
            json!("search"),
            json!("certified"),
            json!("certified"),
            json!("inverse_sqrt_n"),
        ];
        let searched = kernel["bandwidth"] == "search";
        let scaling = if searched {
            json!("search")
        } else {
            pick(&[json!("standard"), json!("minmax"), json!("none"), json!("none")], 4)
        };
        let mut spec = json!({
            "kernel": kernel,
            "features": {
                "count": pick(&[json!(16), json!(64), json!(128), json!(256), json!(512)], 5),
                "sampling": sampling,
                "seed": seed,
            },
            "lambda": pick(&lambdas, 6),
            "scaling": scaling,
            "validation_fraction": pick(&[json!(0.0), json!(0.3), json!(0.3)], 7),
            "calibration_fraction": pick(&[json!(0.0), json!(0.2)], 8),
            "design_fraction": pick(&[json!(0.0), json!(0.0), json!(0.2)], 9),
        });
        if spec["kernel"]["name"] != "angular" && uniform(110, seed) < 0.3 {
            spec["features"]["map"] = json!("phase");
        }
        // Every third spec meets the conditions of the theorems on ridge regression: independent draws, a kernel that is given
        // or chosen on design rows, and a λ that is large or certified.
        let reaching = index % 3 == 2;
        if reaching {
            let by_design = uniform(116, seed) < 0.5;
            spec["features"]["sampling"] = json!("plain");
            spec["lambda"] = pick(&[json!("certified"), json!("certified"), json!(0.3), json!(1.0)], 17);
            spec["design_fraction"] = json!(if by_design { 0.25 } else { 0.0 });
            spec["scaling"] = json!(if by_design { "standard" } else { "none" });
            if spec["kernel"]["name"] != "angular" {
                spec["kernel"]["bandwidth"] = if by_design { json!("mean_distance") } else { json!(1.5) };
            }
        } else if uniform(111, seed) < 0.15 {
            spec["sample_weight"] = json!("weight");
        }
        Self {
            unlabelled: uniform(112, seed) < 0.3,
            holes: !reaching && uniform(113, seed) < 0.2,
            targets: if uniform(114, seed) < 0.25 { 2 } else { 1 },
            ..Self::of(spec)
        }
    }

    /// A spec on the table as it is, with one target.
    pub(crate) fn of(spec: Value) -> Self {
        Self { spec, unlabelled: false, holes: false, targets: 1 }
    }

    pub(crate) fn describe(&self) -> String {
        let with =
            [(self.unlabelled, " unlabelled rows"), (self.holes, " missing cells"), (self.targets > 1, " two targets")];
        let with: String = with.iter().filter(|(used, _)| *used).map(|(_, text)| *text).collect();
        format!("{}{with}", self.spec)
    }

    /// The spec as training takes it, of effort fast unless it says otherwise.
    pub(crate) fn checked(&self) -> TrainSpec {
        TrainSpec::check_stored("", &self.spec, SpecLimits { feature_count: 4096 })
            .expect("every case has a valid spec")
    }

    /// How many targets are predicted.
    pub(crate) fn target_count(&self) -> usize {
        self.targets
    }

    pub(crate) fn train(&self, table: &Table) -> Result<Trained, TrainError> {
        let d = table.inputs.ncols();
        let cell = |i: usize, j: usize| {
            if self.holes && (i * d + j) % 9 == 4 { f64::NAN } else { table.inputs[[i, j]] }
        };
        let rows: Vec<Vec<f64>> = (0..table.inputs.nrows()).map(|i| (0..d).map(|j| cell(i, j)).collect()).collect();
        let missing = |i: usize| self.unlabelled && i % 7 == 3;
        let cells = (0..ROWS).flat_map(|i| {
            let targets = (0..self.targets).map(move |k| if missing(i) { f64::NAN } else { table.targets[[i, k]] });
            rows[i].clone().into_iter().chain([0.5 + uniform(115, i as u64)]).chain(targets).collect::<Vec<_>>()
        });
        let rows_in_memory = RowsInMemory { cells: cells.collect(), columns: d + 1 + self.targets };
        let column = |name: String, missing: u64| {
            let unprofiled = Column::unprofiled(&name, ColumnKind::Numeric, vec![]);
            Column { missing, distinct: 100, min: Some(0.5), max: Some(1.5), ..unprofiled }
        };
        let lost = (0..ROWS).filter(|&i| missing(i)).count() as u64;
        let names = (0..d).map(|j| format!("x{j}")).chain(["weight".to_owned()]);
        let targets = (0..self.targets).map(|k| column(format!("y{k}"), lost));
        let schema = Schema {
            columns: names.map(|name| column(name, 0)).chain(targets).collect(),
            targets: (d + 1..d + 1 + self.targets).collect(),
            task: Task::Regression,
            row_count: ROWS as u64,
            findings: vec![],
        };
        let resources = Resources { threads: 2, cache_bytes: 1 << 26 };
        let model = train(&rows_in_memory, &schema, "ds-truth", &self.checked(), resources, &Unwatched)?.model;
        let share = |name: &str| self.spec[name].as_f64().unwrap_or(0.0);
        let held_out = HeldOut {
            validation: share("validation_fraction"),
            calibration: share("calibration_fraction"),
            design: share("design_fraction"),
        };
        let groups: Vec<Option<u32>> = (0..ROWS).map(|i| (!missing(i)).then_some(0)).collect();
        let parts = split(&groups, held_out, self.spec["features"]["seed"].as_u64().unwrap_or(0));
        let of = |part: Part| (0..ROWS).filter(|&i| parts[i] == part).collect::<Vec<_>>();
        // The weight is an input where it is no weight.
        let weighted = self.spec["sample_weight"].is_string();
        let whole = |(i, row): (usize, Vec<f64>)| {
            let weight = (!weighted).then(|| 0.5 + uniform(115, i as u64));
            row.into_iter().chain(weight).collect()
        };
        let cells = rows.into_iter().enumerate().map(whole).collect();
        Ok(Trained { model, fitted: of(Part::Training), validation: of(Part::Validation), cells })
    }
}

/// The rows of a table that no training saw.
pub(crate) fn new_rows(table: &Table) -> Vec<usize> {
    (ROWS..table.inputs.nrows().min(ROWS + NEW_ROWS)).collect()
}
