//! Splits rows into parts: exact shares, chosen by the seed.

use crate::random::{Purpose, Stream};

/// What a row is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Fitting.
    Training,
    /// Measuring the error.
    Validation,
    /// Calibrating probabilities, and computing the scores of intervals and label sets.
    Calibration,
    /// Nothing, because its target is missing.
    Unlabelled,
}

/// Shares of the labelled rows that are held out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOut {
    /// For measuring the error.
    pub validation: f64,
    /// For calibrating probabilities.
    pub calibration: f64,
}

/// Assigns every row to a part. `groups` has the group of each row, or none where the target is missing. Each group
/// gives its share up to rounding, and over all groups the shares are exact, with at least one row if a share is
/// positive. Every group keeps a row for training.
pub fn split(groups: &[Option<u32>], held_out: HeldOut, seed: u64) -> Vec<Part> {
    let mut quotas = quotas(groups, held_out);
    // Selection sampling: row by row, held out with probability wanted/left. [Knuth 3.4.2, S]
    let mut stream = Stream::new(seed, Purpose::Split, 0);
    let assign = |group: &Option<u32>| {
        let Some(group) = group else { return Part::Unlabelled };
        let quota = &mut quotas[*group as usize];
        let place = stream.uniform() * quota.left as f64;
        quota.left -= 1;
        if place < quota.validation as f64 {
            quota.validation -= 1;
            Part::Validation
        } else if place < (quota.validation + quota.calibration) as f64 {
            quota.calibration -= 1;
            Part::Calibration
        } else {
            Part::Training
        }
    };
    groups.iter().map(assign).collect()
}

/// Rows of a group that are not assigned yet, and how many of them each part still takes.
#[derive(Clone, Default)]
struct Quota {
    left: usize,
    validation: usize,
    calibration: usize,
}

fn quotas(groups: &[Option<u32>], held_out: HeldOut) -> Vec<Quota> {
    let group_count = groups.iter().flatten().max().map_or(0, |most| *most as usize + 1);
    let mut quotas = vec![Quota::default(); group_count];
    groups.iter().flatten().for_each(|group| quotas[*group as usize].left += 1);
    // Running totals are rounded, not the groups: otherwise many small groups would all round down.
    let (mut seen, mut validation, mut calibration) = (0, 0, 0);
    let due = |share: f64, seen: usize| if share > 0.0 { ((share * seen as f64).round() as usize).max(1) } else { 0 };
    for quota in &mut quotas {
        seen += quota.left;
        let mut spare = quota.left.saturating_sub(1); // one stays for training
        quota.validation = due(held_out.validation, seen).saturating_sub(validation).min(spare);
        spare -= quota.validation;
        quota.calibration = due(held_out.calibration, seen).saturating_sub(calibration).min(spare);
        validation += quota.validation;
        calibration += quota.calibration;
    }
    quotas
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_out(validation: f64) -> HeldOut {
        HeldOut { validation, calibration: 0.0 }
    }

    fn count(parts: &[Part], part: Part) -> usize {
        parts.iter().filter(|candidate| **candidate == part).count()
    }

    #[test]
    fn the_share_is_exact_and_unlabelled_rows_stay_out() {
        let groups: Vec<Option<u32>> = (0..1000).map(|row| (row % 10 != 0).then_some(0)).collect();
        let parts = split(&groups, held_out(0.2), 5);
        assert_eq!(count(&parts, Part::Validation), 180);
        assert_eq!(count(&parts, Part::Training), 720);
        assert!(parts.iter().zip(&groups).all(|(part, group)| (*part == Part::Unlabelled) == group.is_none()));
        assert_eq!(parts, split(&groups, held_out(0.2), 5));
        assert_ne!(parts, split(&groups, held_out(0.2), 6));
    }

    #[test]
    fn tiny_tables_keep_a_row_on_each_side() {
        assert_eq!(count(&split(&[Some(0); 2], held_out(0.2), 0), Part::Validation), 1);
        assert_eq!(count(&split(&[Some(0); 2], held_out(0.9), 0), Part::Training), 1);
        assert_eq!(count(&split(&[Some(0); 2], held_out(0.0), 0), Part::Training), 2);
    }

    #[test]
    fn every_group_gives_its_share_and_keeps_a_row() {
        let shares = HeldOut { validation: 0.2, calibration: 0.1 };
        let groups: Vec<Option<u32>> = (0..1000).map(|row| Some(u32::from(row % 10 == 3))).collect();
        let parts = split(&groups, shares, 1);
        let in_second = |part: Part| parts.iter().zip(&groups).filter(|(p, g)| **p == part && **g == Some(1)).count();
        assert_eq!((in_second(Part::Validation), in_second(Part::Calibration)), (20, 10));
        assert_eq!((count(&parts, Part::Validation), count(&parts, Part::Calibration)), (200, 100));

        let pairs: Vec<Option<u32>> = (0..600).map(|row| Some(row / 2)).collect();
        let parts = split(&pairs, shares, 1);
        assert_eq!((count(&parts, Part::Validation), count(&parts, Part::Calibration)), (120, 60));
        assert!(parts.chunks(2).all(|pair| pair.contains(&Part::Training)));
        let single = split(&[Some(0), Some(0), Some(0), Some(1)], held_out(0.5), 3);
        assert_eq!(single[3], Part::Training);
    }

    #[test]
    fn every_row_is_as_likely_to_be_held_out() {
        let mut held = [0_u32; 10];
        for seed in 0..4000 {
            for (row, part) in split(&[Some(0); 10], held_out(0.3), seed).iter().enumerate() {
                held[row] += u32::from(*part == Part::Validation);
            }
        }
        // Binomial(4000, 0.3): five standard deviations are 145.
        assert!(held.iter().all(|&count| count.abs_diff(1200) < 145), "{held:?}");
    }
}
