//! One finding: where, what, how bad, what to do.

use serde::Serialize;

/// Something to know about a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The column; absent if it is about rows.
    pub column: Option<String>,
    /// The sort of finding.
    pub code: FindingCode,
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub detail: String,
    /// What to do about it.
    pub action: String,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// A model may be worse than it looks; training repeats it in its warnings.
    Warning,
}

/// Every sort of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// A tenth of the rows or more has no target.
    UnlabelledRows,
    /// A few cells do not fit their column and count as missing.
    StrayCells,
    /// Words such as `unknown` count as missing.
    MissingWords,
    /// A word such as `unknown` is a level of a text column.
    MissingWordLevel,
    /// Numbers with different signs, such as $ and €, or percent and none.
    MixedUnits,
    /// Digits that begin with zero are levels.
    LeadingZeros,
    /// Integers of 2^53 and above are levels.
    LongIntegers,
    /// Day and month were told apart by the column as a whole.
    DateOrder,
    /// The column names its rows and is left out.
    Identifier,
    /// The column holds sentences and is left out.
    FreeText,
    /// One value in every row.
    Constant,
    /// One value in nearly every row.
    NearlyConstant,
    /// Many levels.
    HighCardinality,
    /// Integers of few values may be codes.
    IntegerCodes,
    /// A value many standard deviations from the mean.
    Outliers,
    /// Half of the cells or more are missing.
    MostlyMissing,
    /// The column says the same as another.
    DuplicateColumn,
    /// The column says nearly the same as the target.
    TargetLeak,
    /// Rows that come more than once.
    DuplicateRows,
    /// A label with very few rows.
    RareClass,
    /// Labels that differ only in case or blanks.
    AlikeLabels,
    /// Levels that differ only in case or blanks.
    AlikeLevels,
    /// Labels that are nearly as many as rows.
    ManyLabels,
    /// The target has a long tail.
    SkewedTarget,
}

impl FindingCode {
    const ALL: [Self; 24] = [
        Self::UnlabelledRows,
        Self::StrayCells,
        Self::MissingWords,
        Self::MissingWordLevel,
        Self::MixedUnits,
        Self::LeadingZeros,
        Self::LongIntegers,
        Self::DateOrder,
        Self::Identifier,
        Self::FreeText,
        Self::Constant,
        Self::NearlyConstant,
        Self::HighCardinality,
        Self::IntegerCodes,
        Self::Outliers,
        Self::MostlyMissing,
        Self::DuplicateColumn,
        Self::TargetLeak,
        Self::DuplicateRows,
        Self::RareClass,
        Self::AlikeLabels,
        Self::AlikeLevels,
        Self::ManyLabels,
        Self::SkewedTarget,
    ];

    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnlabelledRows => "unlabelled_rows",
            Self::StrayCells => "stray_cells",
            Self::MissingWords => "missing_words",
            Self::MissingWordLevel => "missing_word_level",
            Self::MixedUnits => "mixed_units",
            Self::LeadingZeros => "leading_zeros",
            Self::LongIntegers => "long_integers",
            Self::DateOrder => "date_order",
            Self::Identifier => "identifier",
            Self::FreeText => "free_text",
            Self::Constant => "constant",
            Self::NearlyConstant => "nearly_constant",
            Self::HighCardinality => "high_cardinality",
            Self::IntegerCodes => "integer_codes",
            Self::Outliers => "outliers",
            Self::MostlyMissing => "mostly_missing",
            Self::DuplicateColumn => "duplicate_column",
            Self::TargetLeak => "target_leak",
            Self::DuplicateRows => "duplicate_rows",
            Self::RareClass => "rare_class",
            Self::AlikeLabels => "alike_labels",
            Self::AlikeLevels => "alike_levels",
            Self::ManyLabels => "many_labels",
            Self::SkewedTarget => "skewed_target",
        }
    }

    pub(in crate::dataset) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }
}

impl Finding {
    pub(in crate::dataset) fn note(column: &str, code: FindingCode, detail: String, action: impl Into<String>) -> Self {
        Self { column: Some(column.to_owned()), code, severity: Severity::Note, detail, action: action.into() }
    }

    pub(in crate::dataset) fn warning(
        column: &str,
        code: FindingCode,
        detail: String,
        action: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warning, ..Self::note(column, code, detail, action) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json_and_lead_back() {
        for code in FindingCode::ALL {
            assert_eq!(serde_json::json!(code), code.name());
            assert_eq!(FindingCode::named(code.name()), Some(code));
        }
    }
}
