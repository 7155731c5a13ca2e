//! Deletes finished jobs and old versions beyond what is kept. Off unless asked for.

use crate::config::Config;
use crate::jobs::JobPool;
use crate::model::{ModelRegistry, ModelVersion, RegistryError};
use crate::serving::ModelCache;
use crate::storage::database::time_before;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How often it looks.
const INTERVAL: Duration = Duration::from_secs(60);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How many are kept and for how long; none is without limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Keep {
    /// The newest so many.
    count: Option<usize>,
    /// Those not older than this.
    days: Option<u64>,
}

impl Keep {
    fn is_everything(self) -> bool {
        self == Self::default()
    }

    /// RFC 3339; what is older goes.
    fn oldest(self) -> Option<String> {
        self.days.map(|days| time_before(DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX))))
    }
}

/// What is deleted from where.
#[derive(Clone)]
pub(super) struct Retention {
    jobs: (JobPool, Keep),
    versions: (ModelRegistry, ModelCache, Keep),
}

impl Retention {
    pub(super) fn new(config: &Config, jobs: &JobPool, registry: &ModelRegistry, cache: &ModelCache) -> Self {
        let keep_jobs = Keep { count: config.keep_jobs, days: config.keep_job_days };
        let keep_versions = Keep { count: config.keep_versions, days: config.keep_version_days };
        Self { jobs: (jobs.clone(), keep_jobs), versions: (registry.clone(), cache.clone(), keep_versions) }
    }

    /// Looks now, and every minute as long as the runtime lives. Does nothing if everything is kept.
    pub(super) fn start(self) {
        if self.jobs.1.is_everything() && self.versions.2.is_everything() {
            return;
        }
        tokio::spawn(async move {
            let mut turns = tokio::time::interval(INTERVAL);
            loop {
                turns.tick().await;
                let sweep = self.clone();
                // A panic is in the log; the next turn tries again.
                let _ = tokio::task::spawn_blocking(move || sweep.sweep()).await;
            }
        });
    }

    fn sweep(&self) {
        let (jobs, keep) = &self.jobs;
        match jobs.delete_finished(keep.count, keep.oldest().as_deref()) {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "deleted finished jobs beyond what is kept"),
            Err(error) => tracing::warn!(%error, "finished jobs could not be deleted"),
        }
        let (registry, cache, keep) = &self.versions;
        for entry in surplus(&registry.list(None), |name| registry.aliases(name), *keep) {
            match registry.delete(&entry.name, Some(entry.version)) {
                Ok(removed) => {
                    for entry in &removed {
                        cache.forget(entry);
                    }
                    tracing::info!(model = entry.name, version = entry.version, "deleted an old version without alias");
                }
                // It was given an alias or deleted meanwhile.
                Err(
                    RegistryError::Aliased { .. } | RegistryError::NoVersion { .. } | RegistryError::NotFound { .. },
                ) => {}
                Err(error) => tracing::warn!(%error, "an old version could not be deleted"),
            }
        }
    }
}

/// The versions to delete, of versions by model and newest first: never the newest, never one with an alias.
fn surplus(
    versions: &[Arc<ModelVersion>],
    aliases: impl Fn(&str) -> BTreeMap<String, u32>,
    keep: Keep,
) -> Vec<Arc<ModelVersion>> {
    let oldest = keep.oldest();
    let mut surplus = Vec::new();
    for of_model in versions.chunk_by(|one, other| one.name == other.name) {
        let aliased: Vec<u32> = of_model
            .first()
            .map(|entry| aliases(&entry.name))
            .into_iter()
            .flatten()
            .map(|(_, version)| version)
            .collect();
        for (place, entry) in of_model.iter().enumerate().skip(1) {
            let beyond = keep.count.is_some_and(|count| place >= count);
            let old = oldest.as_ref().is_some_and(|oldest| entry.created_at < *oldest);
            if (beyond || old) && !aliased.contains(&entry.version) {
                surplus.push(Arc::clone(entry));
            }
        }
    }
    surplus
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(name: &str, newest: u32, days_old: impl Fn(u32) -> u32) -> Vec<Arc<ModelVersion>> {
        let version = |version| {
            Arc::new(ModelVersion {
                name: name.into(),
                version,
                artifact: format!("{name}{version}"),
                dataset: String::new(),
                bytes: 0,
                sha256: String::new(),
                created_at: time_before(DAY * days_old(version)),
                imported: None,
            })
        };
        (1..=newest).rev().map(version).collect()
    }

    fn numbers(keep: Keep) -> Vec<(String, u32)> {
        let mut all = versions("a", 5, |version| 10 * (5 - version) + 20); // 20 to 60 days old
        all.extend(versions("b", 1, |_| 400));
        let aliases = |name: &str| if name == "a" { BTreeMap::from([("prod".to_owned(), 2)]) } else { BTreeMap::new() };
        surplus(&all, aliases, keep).iter().map(|entry| (entry.name.clone(), entry.version)).collect()
    }

    #[test]
    fn neither_the_newest_nor_an_aliased_version_goes() {
        let of_a = |numbers: &[u32]| numbers.iter().map(|number| ("a".to_owned(), *number)).collect::<Vec<_>>();
        assert_eq!(numbers(Keep::default()), of_a(&[]));
        assert_eq!(numbers(Keep { count: Some(2), days: None }), of_a(&[3, 1]));
        assert_eq!(numbers(Keep { count: Some(1), days: None }), of_a(&[4, 3, 1]));
        assert_eq!(numbers(Keep { count: None, days: Some(35) }), of_a(&[3, 1]));
        assert_eq!(numbers(Keep { count: Some(4), days: Some(45) }), of_a(&[1]));
    }
}
