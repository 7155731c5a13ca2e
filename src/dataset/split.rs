//! Which rows are held out: an exact share, chosen by the seed.

use crate::random::{Purpose, Stream};

/// What a row is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Fitting.
    Training,
    /// Measuring the error.
    Validation,
    /// Nothing: its target is unknown.
    Unlabelled,
}

/// Assigns every row. Exactly ⌊share·labelled⌉ labelled rows are held out, at least one if the
/// share is positive, and at least one row stays for training.
pub fn split(labelled: &[bool], validation_share: f64, seed: u64) -> Vec<Part> {
    let mut left = labelled.iter().filter(|labelled| **labelled).count();
    let mut wanted = (validation_share * left as f64).round() as usize;
    if validation_share > 0.0 {
        wanted = wanted.clamp(1, left.saturating_sub(1).max(1));
    }
    // Selection sampling: row by row, held out with probability wanted/left. [Knuth 3.4.2, S]
    let mut stream = Stream::new(seed, Purpose::Split, 0);
    let assign = |&labelled: &bool| {
        if !labelled {
            return Part::Unlabelled;
        }
        let held_out = stream.uniform() * (left as f64) < wanted as f64;
        left -= 1;
        if held_out {
            wanted -= 1;
            Part::Validation
        } else {
            Part::Training
        }
    };
    labelled.iter().map(assign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(parts: &[Part], part: Part) -> usize {
        parts.iter().filter(|candidate| **candidate == part).count()
    }

    #[test]
    fn the_share_is_exact_and_unlabelled_rows_stay_out() {
        let labelled: Vec<bool> = (0..1000).map(|row| row % 10 != 0).collect();
        let parts = split(&labelled, 0.2, 5);
        assert_eq!(count(&parts, Part::Validation), 180);
        assert_eq!(count(&parts, Part::Training), 720);
        assert!(parts.iter().zip(&labelled).all(|(part, labelled)| (*part == Part::Unlabelled) != *labelled));
        assert_eq!(parts, split(&labelled, 0.2, 5));
        assert_ne!(parts, split(&labelled, 0.2, 6));
    }

    #[test]
    fn tiny_tables_keep_a_row_on_each_side() {
        assert_eq!(count(&split(&[true, true], 0.2, 0), Part::Validation), 1);
        assert_eq!(count(&split(&[true, true], 0.9, 0), Part::Training), 1);
        assert_eq!(count(&split(&[true, true], 0.0, 0), Part::Training), 2);
    }

    #[test]
    fn every_row_is_as_likely_to_be_held_out() {
        let mut held_out = [0_u32; 10];
        for seed in 0..4000 {
            for (row, part) in split(&[true; 10], 0.3, seed).iter().enumerate() {
                held_out[row] += u32::from(*part == Part::Validation);
            }
        }
        // Binomial(4000, 0.3): five standard deviations are 145.
        assert!(held_out.iter().all(|&count| count.abs_diff(1200) < 145), "{held_out:?}");
    }
}
