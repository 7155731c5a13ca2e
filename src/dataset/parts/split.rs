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
    /// Scaling, imputation and choosing features, since its target is missing.
    Unlabelled,
    /// Choosing scaling, bandwidth and λ, and nothing else.
    Design,
    /// Nothing, because the run at hand is about other rows.
    Ignored,
}

/// Shares of the labelled rows that are held out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HeldOut {
    /// For measuring the error.
    pub validation: f64,
    /// For calibrating probabilities.
    pub calibration: f64,
    /// For choosing scaling, bandwidth and λ.
    pub design: f64,
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
        } else if place < (quota.validation + quota.calibration + quota.design) as f64 {
            quota.design -= 1;
            Part::Design
        } else {
            Part::Training
        }
    };
    groups.iter().map(assign).collect()
}

/// The fold of every row, of `count` folds. Each group is dealt out in an order at random, one row to a fold in turn, so
/// that folds have the same shares of it; none for rows without a group.
pub fn folds(groups: &[Option<u32>], count: usize, seed: u64) -> Vec<Option<u32>> {
    let mut rows: Vec<(u32, usize)> =
        groups.iter().enumerate().filter_map(|(row, group)| group.map(|group| (group, row))).collect();
    rows.sort_unstable();
    let mut folds = vec![None; groups.len()];
    let mut dealt = 0;
    for (number, members) in rows.chunk_by(|left, right| left.0 == right.0).enumerate() {
        for place in permutation(seed, ORDERS_OF_FOLDS + number as u64, members.len()) {
            folds[members[place].1] = Some((dealt % count) as u32);
            dealt += 1;
        }
    }
    folds
}

/// The first of the permutations of one seed that fold rows.
const ORDERS_OF_FOLDS: u64 = 1 << 40;

/// Which rows remain if every group keeps a share, rounded to rows and at least one of them: true for rows that are kept.
/// Rows without a group are not.
pub fn thin(groups: &[Option<u32>], share: f64, seed: u64) -> Vec<bool> {
    choose(groups, |count| ((share * count as f64).round() as usize).max(1), seed)
}

/// The same where every group keeps `count` rows, or all it has.
pub fn keep_few(groups: &[Option<u32>], count: usize, seed: u64) -> Vec<bool> {
    choose(groups, |_| count, seed)
}

/// Selection sampling within each group. [Knuth 3.4.2, S]
fn choose(groups: &[Option<u32>], wanted: impl Fn(usize) -> usize, seed: u64) -> Vec<bool> {
    let group_count = groups.iter().flatten().max().map_or(0, |most| *most as usize + 1);
    let mut left = vec![0_usize; group_count];
    groups.iter().flatten().for_each(|group| left[*group as usize] += 1);
    let mut wanted: Vec<usize> = left.iter().map(|count| wanted(*count)).collect();
    let mut stream = Stream::new(seed, Purpose::FewRows, 0);
    let keep = |group: &Option<u32>| {
        let Some(group) = group.map(|group| group as usize) else { return false };
        let kept = stream.uniform() * (left[group] as f64) < wanted[group] as f64;
        left[group] -= 1;
        wanted[group] -= usize::from(kept);
        kept
    };
    groups.iter().map(keep).collect()
}

/// Rows of a group that are not assigned yet, and how many of them each part still takes.
#[derive(Clone, Default)]
struct Quota {
    left: usize,
    validation: usize,
    calibration: usize,
    design: usize,
}

fn quotas(groups: &[Option<u32>], held_out: HeldOut) -> Vec<Quota> {
    let group_count = groups.iter().flatten().max().map_or(0, |most| *most as usize + 1);
    let mut quotas = vec![Quota::default(); group_count];
    groups.iter().flatten().for_each(|group| quotas[*group as usize].left += 1);
    // Running totals are rounded, not the groups: otherwise many small groups would all round down.
    let (mut seen, mut validation, mut calibration, mut design) = (0, 0, 0, 0);
    let due = |share: f64, seen: usize| if share > 0.0 { ((share * seen as f64).round() as usize).max(1) } else { 0 };
    for quota in &mut quotas {
        seen += quota.left;
        let mut spare = quota.left.saturating_sub(1); // one stays for training
        quota.validation = due(held_out.validation, seen).saturating_sub(validation).min(spare);
        spare -= quota.validation;
        quota.calibration = due(held_out.calibration, seen).saturating_sub(calibration).min(spare);
        spare -= quota.calibration;
        quota.design = due(held_out.design, seen).saturating_sub(design).min(spare);
        validation += quota.validation;
        calibration += quota.calibration;
        design += quota.design;
    }
    quotas
}

/// An order of `count` things at random: number `index` under a seed.
pub fn permutation(seed: u64, index: u64, count: usize) -> Vec<usize> {
    let mut stream = Stream::new(seed, Purpose::Permutations, index);
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, ((stream.uniform() * (last + 1) as f64) as usize).min(last));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_out(validation: f64) -> HeldOut {
        HeldOut { validation, ..HeldOut::default() }
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
        let shares = HeldOut { validation: 0.2, calibration: 0.1, design: 0.0 };
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

    /// Design rows come out of the training rows alone: the other parts stay as they are without them.
    #[test]
    fn design_rows_are_taken_from_the_training_rows() {
        let groups: Vec<Option<u32>> = (0..1000).map(|row| Some(u32::from(row % 10 == 3))).collect();
        let without = HeldOut { validation: 0.2, calibration: 0.1, design: 0.0 };
        let (before, parts) = (split(&groups, without, 1), split(&groups, HeldOut { design: 0.25, ..without }, 1));
        assert_eq!((count(&parts, Part::Design), count(&parts, Part::Training)), (250, 450));
        for (before, after) in before.iter().zip(&parts) {
            assert!(before == after || (*before, *after) == (Part::Training, Part::Design));
        }
        let in_second = parts.iter().zip(&groups).filter(|(p, g)| **p == Part::Design && **g == Some(1)).count();
        assert_eq!(in_second, 25);
    }

    #[test]
    fn every_group_keeps_what_is_wanted_of_it() {
        let groups: Vec<Option<u32>> = (0..1000).map(|row| (row % 10 != 0).then_some(row % 3)).collect();
        let of =
            |kept: &[bool], wanted: u32| kept.iter().zip(&groups).filter(|(k, g)| **k && **g == Some(wanted)).count();
        let few = keep_few(&groups, 7, 4);
        assert_eq!([0, 1, 2].map(|group| of(&few, group)), [7, 7, 7]);
        assert_eq!(few, keep_few(&groups, 7, 4));
        assert_ne!(few, keep_few(&groups, 7, 5));
        let all = keep_few(&groups, 1000, 4);
        assert!(all.iter().zip(&groups).all(|(kept, group)| *kept == group.is_some()));
        assert_eq!([0, 1, 2].map(|group| of(&thin(&groups, 0.1, 4), group)), [30, 30, 30]);
        assert_eq!([0, 1, 2].map(|group| of(&thin(&groups, 1e-9, 4), group)), [1, 1, 1]);
        let mut counts = [0_u32; 9];
        for seed in 0..3000 {
            keep_few(&[Some(0); 9], 3, seed)
                .iter()
                .zip(&mut counts)
                .for_each(|(kept, count)| *count += u32::from(*kept));
        }
        // Binomial(3000, 1/3): five standard deviations are 129.
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 129), "{counts:?}");
    }

    #[test]
    fn folds_share_every_group() {
        let groups: Vec<Option<u32>> =
            (0..1000).map(|row| (row % 10 != 0).then_some(u32::from(row % 7 == 0))).collect();
        let folded = folds(&groups, 4, 5);
        let of = |fold: u32, group: u32| {
            folded.iter().zip(&groups).filter(|(own, known)| **own == Some(fold) && **known == Some(group)).count()
        };
        let (first, second) = ([0, 1, 2, 3].map(|fold| of(fold, 0)), [0, 1, 2, 3].map(|fold| of(fold, 1)));
        for sizes in [first, second] {
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
        }
        assert_eq!(first.iter().sum::<usize>() + second.iter().sum::<usize>(), 900);
        assert!(folded.iter().zip(&groups).all(|(fold, group)| fold.is_some() == group.is_some()));
        assert_eq!(folded, folds(&groups, 4, 5));
        assert_ne!(folded, folds(&groups, 4, 6));
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
