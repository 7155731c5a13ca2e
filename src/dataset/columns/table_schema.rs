//! The columns, targets and task of a table.

use super::decision::Use;
use super::profile::Profiled;
use super::{ColumnOptions, Intent};
use crate::dataset::quality::{Finding, of_schema};
use crate::dataset::{Column, ColumnKind, DatasetError, LeftOut, Schema, Task, UploadOptions};

/// Fewer labels than this are never too many for their rows.
const FEW_LABELS: u64 = 20;

/// What each column is to be; refuses names that no column has, or that are named for two things.
pub(in crate::dataset) fn intents(names: &[String], options: &UploadOptions) -> Result<Vec<Intent>, DatasetError> {
    let mut intents = vec![Intent::Infer; names.len()];
    let [categorical, datetime, ignore] = options.columns.lists();
    let lists = [("numeric", options.numeric.as_slice()), categorical, datetime, ignore];
    let kinds = [Intent::Numeric, Intent::Categorical, Intent::Datetime, Intent::Ignore];
    for ((option, wanted), intent) in lists.into_iter().zip(kinds) {
        for name in wanted {
            let at = position(names, option, name)?;
            if intents[at] != Intent::Infer && intents[at] != intent {
                let detail = format!("column '{name}' is also named in another parameter; name it once");
                return Err(DatasetError::Option { option, detail });
            }
            intents[at] = intent;
        }
    }
    for target in targets_of(names, options)? {
        match (intents[target], options.task) {
            (Intent::Ignore, _) => {
                let detail = format!("column '{}' is the target; choose another with target=", names[target]);
                return Err(DatasetError::Option { option: "ignore", detail });
            }
            (_, Some(Task::Classification)) => intents[target] = Intent::Categorical,
            (_, Some(Task::Regression)) => intents[target] = Intent::Numeric,
            (Intent::Infer | Intent::Numeric | Intent::Categorical | Intent::Datetime, None) => {}
        }
    }
    Ok(intents)
}

/// The schema of a table, with what to know about it.
pub(in crate::dataset) fn make_schema(
    names: &[String],
    profiled: Profiled,
    intents: &[Intent],
    options: &UploadOptions,
) -> Result<Schema, DatasetError> {
    let targets = targets_of(names, options)?;
    let Profiled { profiles, row_count, sample } = profiled;
    let (mut columns, mut findings): (Vec<Column>, Vec<Finding>) = (Vec::with_capacity(names.len()), Vec::new());
    for (index, (name, profile)) in names.iter().zip(profiles).enumerate() {
        let used = if targets.contains(&index) { Use::Target } else { Use::Input };
        let (column, of_column) = profile.decide(name, intents[index], used, &options.columns)?;
        columns.push(column);
        findings.extend(of_column);
    }
    let is_number = |&target: &usize| columns[target].kind == ColumnKind::Numeric;
    let task = if targets.iter().all(is_number) { Task::Regression } else { Task::Classification };
    if let (Task::Classification, [_, _, ..]) = (task, targets.as_slice()) {
        let label = targets.iter().find(|target| !is_number(target)).unwrap_or(&targets[0]);
        let detail = format!("several targets must all be numbers, and column '{}' holds labels", names[*label]);
        return Err(DatasetError::Option { option: "target", detail });
    }
    if targets.len() == columns.len() {
        let detail = "every column is a target, which leaves no inputs".to_owned();
        return Err(DatasetError::Option { option: "target", detail });
    }
    let mut schema = Schema { columns, targets, task, row_count, findings };
    schema.check()?;
    refuse_many_labels(&schema, options)?;
    refuse_no_inputs(&schema, &options.columns)?;
    schema.findings.extend(of_schema(&schema, &sample));
    Ok(schema)
}

/// Refuses a text target with nearly as many labels as rows, unless the sender insists.
fn refuse_many_labels(schema: &Schema, options: &UploadOptions) -> Result<(), DatasetError> {
    let Some(target) = schema.target_columns().next() else { return Ok(()) };
    let rows = schema.row_count - target.missing;
    let insists = options.task == Some(Task::Classification) || options.columns.categorical.contains(&target.name);
    if schema.task == Task::Regression || insists || target.distinct <= FEW_LABELS || 2 * target.distinct <= rows {
        return Ok(());
    }
    let examples = target.levels.iter().take(3).map(|level| format!("'{level}'")).collect::<Vec<_>>().join(", ");
    let detail = format!(
        "{} different labels in {rows} rows, such as {examples}: most have a single row, so nothing can be learned about them. \
         Choose another column with target=, correct the cells if they are numbers, or send task=classification to insist",
        target.distinct
    );
    Err(DatasetError::column(&target.name, detail))
}

fn refuse_no_inputs(schema: &Schema, options: &ColumnOptions) -> Result<(), DatasetError> {
    let mut others = (0..schema.columns.len()).filter(|index| !schema.targets.contains(index));
    if others.any(|index| schema.columns[index].reading.left_out.is_none()) {
        return Ok(());
    }
    let identifier = schema
        .columns
        .iter()
        .find(|column| matches!(column.reading.left_out, Some(LeftOut::Identifier | LeftOut::FreeText)));
    let Some(column) = identifier else {
        let detail = format!("no input is left after leaving out {}", options.ignore.join(", "));
        return Err(DatasetError::Option { option: "ignore", detail });
    };
    let name = &column.name;
    let detail = format!(
        "no input is left: its values are different in nearly every row, so nothing can be learned from them; send other \
         columns, or categorical={name} or numeric={name} to keep it"
    );
    Err(DatasetError::column(name, detail))
}

fn targets_of(names: &[String], options: &UploadOptions) -> Result<Vec<usize>, DatasetError> {
    match &options.target {
        Some(wanted) => target_positions(names, wanted),
        None => Ok(vec![names.len() - 1]),
    }
}

/// One column, or several with commas between, each named once.
fn target_positions(names: &[String], wanted: &str) -> Result<Vec<usize>, DatasetError> {
    if names.iter().any(|name| name == wanted) || !wanted.contains(',') {
        return Ok(vec![position(names, "target", wanted)?]);
    }
    let mut targets = Vec::new();
    for wanted in wanted.split(',') {
        let target = position(names, "target", wanted)?;
        if targets.contains(&target) {
            return Err(DatasetError::Option { option: "target", detail: format!("column '{wanted}' is named twice") });
        }
        targets.push(target);
    }
    Ok(targets)
}

fn position(names: &[String], option: &'static str, wanted: &str) -> Result<usize, DatasetError> {
    names.iter().position(|name| name == wanted).ok_or_else(|| {
        let nearest = crate::request::suggest::nearest(wanted, names.iter().map(String::as_str));
        DatasetError::Option { option, detail: format!("there is no column '{wanted}'{nearest}") }
    })
}
