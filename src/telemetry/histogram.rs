//! A lock-free histogram, because requests on all threads count into it at once.

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts by bucket; clones share them.
#[derive(Debug, Clone)]
pub(super) struct AtomicHistogram(Arc<Buckets>);

#[derive(Debug)]
struct Buckets {
    /// Upper bounds, ascending; the last is infinite.
    bounds: Vec<f64>,
    counts: Vec<AtomicU64>,
    /// The bits of an f64.
    sum: AtomicU64,
}

impl AtomicHistogram {
    /// Buckets with these upper bounds, and one for larger values.
    pub(super) fn new(bounds: impl Iterator<Item = f64>) -> Self {
        let bounds: Vec<f64> = bounds.chain([f64::INFINITY]).collect();
        let counts = bounds.iter().map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Buckets { bounds, counts, sum: AtomicU64::new(0) }))
    }

    /// Counts one value.
    pub(super) fn observe(&self, value: f64) {
        let Buckets { bounds, counts, sum } = &*self.0;
        let bucket = bounds.iter().position(|bound| value <= *bound).unwrap_or(bounds.len() - 1);
        counts[bucket].fetch_add(1, Ordering::Relaxed);
        let add = |sum| Some((f64::from_bits(sum) + value).to_bits());
        let _ = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add); // cannot fail: the closure always gives a value
    }

    /// The number of values and their sum.
    pub(super) fn total(&self) -> (u64, f64) {
        let count = self.0.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        (count, f64::from_bits(self.0.sum.load(Ordering::Relaxed)))
    }
}

impl TypedMetric for AtomicHistogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for AtomicHistogram {
    fn encode(&self, mut encoder: MetricEncoder) -> fmt::Result {
        let counts = self.0.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = self.0.bounds.iter().copied().zip(counts).collect();
        let count = buckets.iter().map(|(_, count)| count).sum(); // of the counts shown, even if others are added meanwhile
        let (_, sum) = self.total();
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::registry::Registry;

    #[test]
    fn threads_lose_nothing_and_the_text_is_a_histogram() {
        let sizes = AtomicHistogram::new([1.0, 10.0].into_iter());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|number| sizes.observe(f64::from(number % 20))));
            }
        });
        let mut registry = Registry::default();
        registry.register("sizes", "Sizes", sizes);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        // 0 and 1, then 2 to 10, then 11 to 19: 200 of each number.
        for line in [
            "sizes_sum 38000.0",
            "sizes_count 4000",
            "sizes_bucket{le=\"1.0\"} 400",
            "sizes_bucket{le=\"10.0\"} 2200",
            "sizes_bucket{le=\"+Inf\"} 4000",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }
}
