//! Splits rows by the values of one column, which are never divided: in their order, or in an order at random.

use super::split::{HeldOut, Part, permutation};

/// In which order the values of a column are dealt out to the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitOrder {
    /// From the smallest to the largest: design rows come first, then training, calibration and validation rows.
    Ascending,
    /// At random, by the seed.
    Random,
}

/// There are fewer values than parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFewUnits {
    /// Values of rows that are to be split.
    pub available: usize,
    /// One for each part.
    pub needed: usize,
}

/// Assigns every row to a part by its value; NaN stands for a row without a target. Rows of the same value go to the same
/// part, so shares are met only as nearly as the values allow; every part has a value at least.
pub fn split_units(values: &[f64], held_out: HeldOut, order: UnitOrder, seed: u64) -> Result<Vec<Part>, TooFewUnits> {
    let training = 1.0 - held_out.validation - held_out.calibration - held_out.design;
    let shares = [
        (Part::Design, held_out.design),
        (Part::Training, training),
        (Part::Calibration, held_out.calibration),
        (Part::Validation, held_out.validation),
    ];
    let shares: Vec<(Part, f64)> =
        shares.into_iter().filter(|(part, share)| *share > 0.0 || *part == Part::Training).collect();
    let weights: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
    let dealt = deal(values, &weights, order, seed)?;
    Ok(dealt.into_iter().map(|place| place.map_or(Part::Unlabelled, |place| shares[place as usize].0)).collect())
}

/// The fold of every row, of `count` folds of about as many rows; none for rows without a target.
pub fn fold_units(values: &[f64], count: usize, order: UnitOrder, seed: u64) -> Result<Vec<Option<u32>>, TooFewUnits> {
    deal(values, &vec![1.0 / count as f64; count], order, seed)
}

/// Deals the values out to places that take these shares of the rows.
fn deal(values: &[f64], shares: &[f64], order: UnitOrder, seed: u64) -> Result<Vec<Option<u32>>, TooFewUnits> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let counts: Vec<usize> = sorted.chunk_by(|left, right| left == right).map(<[f64]>::len).collect();
    sorted.dedup();
    if counts.len() < shares.len() {
        return Err(TooFewUnits { available: counts.len(), needed: shares.len() });
    }
    let order = match order {
        UnitOrder::Ascending => (0..counts.len()).collect(),
        UnitOrder::Random => permutation(seed, ORDER_OF_UNITS, counts.len()),
    };
    let ordered: Vec<usize> = order.iter().map(|unit| counts[*unit]).collect();
    let mut places = vec![0; counts.len()];
    let mut first = 0;
    for (place, end) in ends(&ordered, shares).into_iter().enumerate() {
        order[first..end].iter().for_each(|unit| places[*unit] = place as u32);
        first = end;
    }
    let unit =
        |value: &f64| sorted.binary_search_by(|known| known.partial_cmp(value).unwrap_or(std::cmp::Ordering::Less));
    Ok(values.iter().map(|value| unit(value).ok().map(|unit| places[unit])).collect())
}

/// The permutation of units among those of one seed; explanations use the small numbers.
const ORDER_OF_UNITS: u64 = u64::MAX;

/// Where each place ends among units of these sizes: as near to its share of the rows as it can, with a unit at least.
fn ends(counts: &[usize], shares: &[f64]) -> Vec<usize> {
    let total = counts.iter().sum::<usize>() as f64;
    let (mut ends, mut end, mut seen, mut share) = (Vec::with_capacity(shares.len()), 0, 0.0, 0.0);
    for (place, own) in shares.iter().enumerate().take(shares.len() - 1) {
        share += own;
        let last = counts.len() - (shares.len() - 1 - place); // the places that follow need a unit each
        seen += counts[end] as f64;
        end += 1;
        while end < last && (seen + counts[end] as f64 - share * total).abs() < (seen - share * total).abs() {
            seen += counts[end] as f64;
            end += 1;
        }
        ends.push(end);
    }
    ends.push(counts.len());
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARES: HeldOut = HeldOut { validation: 0.2, calibration: 0.1, design: 0.1 };

    fn count(parts: &[Part], part: Part) -> usize {
        parts.iter().filter(|candidate| **candidate == part).count()
    }

    /// Rows in a mixed order, a tenth of them without a target.
    fn times() -> Vec<f64> {
        (0..1000).map(|row: u32| if row.is_multiple_of(10) { f64::NAN } else { f64::from(row * 389 % 1000) }).collect()
    }

    #[test]
    fn later_rows_are_held_out() {
        let parts = split_units(&times(), SHARES, UnitOrder::Ascending, 3).unwrap();
        let counts = [Part::Design, Part::Training, Part::Calibration, Part::Validation, Part::Unlabelled]
            .map(|part| count(&parts, part));
        assert_eq!(counts, [90, 540, 90, 180, 100]);
        let range = |part: Part| {
            let of_part = times().into_iter().zip(&parts).filter(|(_, own)| **own == part).map(|(time, _)| time);
            of_part.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), time| (time.min(low), time.max(high)))
        };
        assert!(range(Part::Design).1 < range(Part::Training).0);
        assert!(range(Part::Training).1 < range(Part::Calibration).0);
        assert!(range(Part::Calibration).1 < range(Part::Validation).0);
        assert_eq!(parts, split_units(&times(), SHARES, UnitOrder::Ascending, 4).unwrap(), "no seed decides");
    }

    #[test]
    fn groups_are_never_divided_and_the_seed_chooses_them() {
        // Groups of 1 to 9 rows.
        let groups: Vec<f64> = (0..200).flat_map(|group| vec![f64::from(group); 1 + group as usize * 7 % 9]).collect();
        let mut held = vec![0; 200];
        for seed in 0..200 {
            let parts = split_units(&groups, SHARES, UnitOrder::Random, seed).unwrap();
            for group in groups.chunk_by(|left, right| left == right).map(|group| group[0]) {
                let mut own = groups.iter().zip(&parts).filter(|(value, _)| **value == group).map(|(_, part)| *part);
                let first = own.next().unwrap();
                assert!(own.all(|part| part == first));
                held[group as usize] += usize::from(first == Part::Validation);
            }
            // No group has more than nine rows, so a cut is at most 4.5 rows off, and a part at most 9.
            assert!(count(&parts, Part::Validation).abs_diff(groups.len() / 5) <= 9);
        }
        // Binomial(200, about 0.2): five standard deviations are 28.
        assert!(held.iter().all(|times: &usize| times.abs_diff(40) <= 28), "{held:?}");
    }

    #[test]
    fn every_part_has_a_value_or_the_split_is_refused() {
        let years = |count: u32| (0..100).map(|row| f64::from(row % count)).collect::<Vec<_>>();
        let parts = split_units(&years(4), SHARES, UnitOrder::Ascending, 0).unwrap();
        assert_eq!(
            [Part::Design, Part::Training, Part::Calibration, Part::Validation].map(|p| count(&parts, p)),
            [25; 4]
        );
        let refused = split_units(&years(3), SHARES, UnitOrder::Ascending, 0).unwrap_err();
        assert_eq!(refused, TooFewUnits { available: 3, needed: 4 });
        assert_eq!(fold_units(&years(3), 4, UnitOrder::Random, 0), Err(TooFewUnits { available: 3, needed: 4 }));
    }

    #[test]
    fn folds_take_about_as_many_rows() {
        let folds = fold_units(&times(), 5, UnitOrder::Ascending, 0).unwrap();
        let sizes = [0, 1, 2, 3, 4].map(|fold| folds.iter().filter(|own| **own == Some(fold)).count());
        assert_eq!((sizes, folds.iter().filter(|own| own.is_none()).count()), ([180; 5], 100));
    }
}
