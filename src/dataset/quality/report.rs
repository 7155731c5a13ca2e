//! What the statistics of columns tell.

use super::{Finding, FindingCode, RowSample};
use crate::dataset::{Column, ColumnKind, LEVEL_INPUTS, LeftOut, MOST_INDICATORS, Schema, Task};
use std::collections::BTreeMap;

/// Levels from which on a text column is worth a word: each becomes an input.
const MANY_LEVELS: u64 = 50;

/// Standard deviations from the mean from which on a value is worth a word.
const FAR: f64 = 10.0;

/// Skewness of a target from which on a logarithm is worth trying; that of an exponential law is 2.
const SKEWED: f64 = 3.0;

/// Everything that the statistics of a table and a sample of its rows tell.
pub(in crate::dataset) fn of_schema(schema: &Schema, sample: &RowSample) -> Vec<Finding> {
    let mut findings: Vec<Finding> = unlabelled(schema).into_iter().collect();
    for (index, column) in schema.columns.iter().enumerate() {
        if schema.targets.contains(&index) {
            findings.extend(of_target(column, schema));
        } else if let Some(left_out) = column.reading.left_out {
            findings.extend(of_left_out(column, left_out));
        } else {
            findings.extend(of_input(column, schema.row_count));
        }
    }
    findings.extend(sample.findings(schema));
    findings
}

/// What to know about a table of which a tenth or more of the rows has no target.
fn unlabelled(schema: &Schema) -> Option<Finding> {
    let (rows, empty) = (schema.row_count, schema.row_count - schema.labelled_rows());
    let target = schema.target_columns().max_by_key(|column| column.missing)?;
    (empty > 0 && empty >= rows.div_ceil(10)).then(|| {
        Finding::note(
            &target.name,
            FindingCode::UnlabelledRows,
            format!("{empty} of {rows} rows have no target in column '{}'", target.name),
            "Training scales and fills in inputs and chooses features by these rows, and never fits them. If their targets \
             are known, upload the table with them.",
        )
    })
}

fn of_left_out(column: &Column, left_out: LeftOut) -> Option<Finding> {
    let name = &column.name;
    match left_out {
        LeftOut::Ignored => None,
        LeftOut::Identifier => Some(Finding::warning(
            name,
            FindingCode::Identifier,
            "the column is left out: it is different in nearly every row, so it names rows and says nothing about new ones"
                .to_owned(),
            format!("To keep it as an input, send categorical={name} or numeric={name}."),
        )),
        LeftOut::FreeText => Some(Finding::warning(
            name,
            FindingCode::FreeText,
            "the column is left out: it holds sentences, which are not read".to_owned(),
            "Turn what matters in them into columns of their own.",
        )),
    }
}

fn of_input(column: &Column, rows: u64) -> Vec<Finding> {
    let (name, mut findings) = (&column.name, Vec::new());
    if column.missing * 2 >= rows {
        let detail = format!("{} of {rows} cells are missing", column.missing);
        let action = format!("Fill the column in, or leave it out with ignore={name}.");
        findings.push(Finding::warning(name, FindingCode::MostlyMissing, detail, action));
    }
    if column.distinct == 1 {
        let action = format!("It has no effect; leave it out with ignore={name}.");
        let detail = "every cell that is not missing holds the same value".to_owned();
        findings.push(Finding::note(name, FindingCode::Constant, detail, action));
        return findings;
    }
    if let Some(most) = column.reading.counts.iter().max()
        && rows >= 100
        && *most * 100 >= (rows - column.missing) * 99
    {
        let detail = format!("{most} of {rows} cells hold the same value");
        let action = format!("It can have little effect; leave it out with ignore={name} if it is not needed.");
        findings.push(Finding::note(name, FindingCode::NearlyConstant, detail, action));
    }
    match column.kind {
        ColumnKind::Numeric => findings.extend(of_numbers(column, rows)),
        ColumnKind::Categorical => findings.extend(of_levels(column)),
        ColumnKind::Boolean | ColumnKind::Date | ColumnKind::Datetime | ColumnKind::Text => {}
    }
    findings
}

fn of_numbers(column: &Column, rows: u64) -> Vec<Finding> {
    let (name, mut findings) = (&column.name, Vec::new());
    let few = (3..=10).contains(&column.distinct) && column.distinct * 20 <= rows;
    if column.reading.integers && few {
        let detail =
            format!("{} different integers in {rows} rows: they may be codes and not quantities", column.distinct);
        let action = format!("If their order means nothing, send categorical={name}.");
        findings.push(Finding::note(name, FindingCode::IntegerCodes, detail, action));
    }
    if let (Some(min), Some(max), Some(mean), Some(std)) = (column.min, column.max, column.mean, column.std) {
        let far = ((max - mean).max(mean - min) / std, if max - mean > mean - min { max } else { min });
        if far.0 > FAR {
            let detail = format!("{} is {:.0} standard deviations from the mean {mean:.4}", far.1, far.0);
            let action = "Correct it if it is a mistake; otherwise send the logarithm of the column.";
            findings.push(Finding::warning(name, FindingCode::Outliers, detail, action));
        }
    }
    findings
}

fn of_levels(column: &Column) -> Vec<Finding> {
    let (name, mut findings) = (&column.name, Vec::new());
    if column.distinct > MOST_INDICATORS as u64 {
        let detail = format!(
            "{} levels become {LEVEL_INPUTS} inputs of signs, and levels with very few rows are taken together",
            column.distinct
        );
        let action = format!("If the column names rows, leave it out with ignore={name}.");
        findings.push(Finding::note(name, FindingCode::HighCardinality, detail, action));
    } else if column.distinct > MANY_LEVELS {
        let detail = format!("{} levels, each of which becomes an input", column.distinct);
        let action = format!("Merge rare levels, or leave the column out with ignore={name}.");
        findings.push(Finding::warning(name, FindingCode::HighCardinality, detail, action));
    }
    if let Some(alike) = alike(&column.levels) {
        let detail = format!("levels differ only in case or blanks: {alike}");
        let action = "Write each level in one way; until then they are different inputs.";
        findings.push(Finding::warning(name, FindingCode::AlikeLevels, detail, action));
    }
    findings
}

fn of_target(column: &Column, schema: &Schema) -> Vec<Finding> {
    let (name, mut findings) = (&column.name, Vec::new());
    if schema.task == Task::Regression {
        if let Some(skewness) = column.reading.skewness.filter(|skewness| skewness.abs() > SKEWED) {
            let detail = format!("the target has a long tail (skewness {skewness:.1}), so few rows decide the error");
            let action = "If it is positive, predict its logarithm.";
            findings.push(Finding::note(name, FindingCode::SkewedTarget, detail, action));
        }
        return findings;
    }
    let rows = schema.row_count - column.missing;
    let labels = schema.labels();
    let rare: Vec<String> = labels
        .iter()
        .zip(&column.reading.counts)
        .filter(|(_, count)| **count == 1)
        .map(|(label, _)| format!("'{label}'"))
        .collect();
    if !rare.is_empty() {
        let shown = rare.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        let detail = format!("{} of {} labels have a single row: {shown}", rare.len(), labels.len());
        let action =
            "A label needs several rows to be learned and measured: add rows, merge labels, or remove these rows.";
        findings.push(Finding::warning(name, FindingCode::RareClass, detail, action));
    }
    if column.distinct > 20 && 2 * column.distinct > rows {
        let detail = format!("{} labels in {rows} rows", column.distinct);
        let action = "Choose another target, or merge labels.";
        findings.push(Finding::warning(name, FindingCode::ManyLabels, detail, action));
    }
    if let Some(alike) = alike(&column.levels) {
        let detail = format!("labels differ only in case or blanks: {alike}");
        let action = "Write each label in one way; until then the model separates them.";
        findings.push(Finding::warning(name, FindingCode::AlikeLabels, detail, action));
    }
    findings
}

/// The first levels that are the same but for case and blanks.
fn alike(levels: &[String]) -> Option<String> {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for level in levels {
        let plain = level.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        groups.entry(plain).or_default().push(level);
    }
    let alike = groups.into_values().find(|group| group.len() > 1)?;
    Some(alike.iter().map(|level| format!("'{level}'")).collect::<Vec<_>>().join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_that_differ_in_case_or_blanks_are_found() {
        let of = |levels: &[&str]| alike(&levels.iter().map(|level| (*level).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["No", "Yes", "yes"]), Some("'Yes' and 'yes'".to_owned()));
        assert_eq!(of(&["New  York", "new york"]), Some("'New  York' and 'new york'".to_owned()));
        assert_eq!(of(&["a", "b"]), None);
    }
}
