//! What the work of a command may take.

use crate::config::Bytes;
use crate::training::{Resources, SpecLimits};
use clap::Args;

/// Threads, memory and features.
#[derive(Debug, Args)]
pub struct ResourceArguments {
    /// Threads. The default is all cores; the result does not depend on it.
    #[arg(long)]
    threads: Option<usize>,

    /// Memory that the work may need, by estimate.
    #[arg(long, default_value = "4GiB")]
    memory: Bytes,

    /// Largest feature count.
    #[arg(long, default_value_t = 16_384)]
    max_features: usize,
}

impl ResourceArguments {
    pub(in crate::cli) fn spec_limits(&self) -> SpecLimits {
        SpecLimits { feature_count: self.max_features }
    }

    pub(in crate::cli) fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
    }

    /// In bytes.
    pub(in crate::cli) fn memory(&self) -> u64 {
        self.memory.0
    }

    /// What is left to work with if so many bytes are needed; refused if there are not as many.
    pub(in crate::cli) fn grant(&self, need: u64, what: &str, advice: &str) -> Result<Resources, String> {
        let have = self.memory.0;
        match have.checked_sub(need) {
            Some(cache_bytes) => Ok(Resources { threads: self.threads(), cache_bytes }),
            None => Err(format!(
                "the {what} would need about {} MiB of memory and --memory allows {} MiB; {advice}",
                need >> 20,
                have >> 20
            )),
        }
    }
}
