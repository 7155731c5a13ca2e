//! How much of the disk the data directory may take, counted before anything is written.

use rustix::fs::statvfs;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a measurement is used. What is written meanwhile is added to it.
const FRESH: Duration = Duration::from_secs(1);

/// The part of a file system that is kept free unless told otherwise, and the most that is.
const FREE_SHARE: u64 = 20;
const MOST_FREE: u64 = 1 << 30;

/// What a data directory may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskLimits {
    /// Bytes of all files in the directory.
    pub budget: Option<u64>,
    /// Bytes to keep free, of the disk and of the budget; a twentieth of the file system, at most 1 GiB, where not given.
    pub low_water: Option<u64>,
}

/// The state of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskUsage {
    /// Bytes of the files in the data directory.
    pub used: u64,
    /// Bytes that the file system has left for us.
    pub free: u64,
    /// Bytes of the file system.
    pub total: u64,
    /// What the directory may take.
    pub budget: Option<u64>,
    /// Bytes that are kept free.
    pub low_water: u64,
}

impl DiskUsage {
    /// Bytes that may still be written.
    pub fn room(&self) -> u64 {
        let within_budget = self.budget.map_or(u64::MAX, |budget| budget.saturating_sub(self.used));
        self.free.min(within_budget).saturating_sub(self.low_water)
    }

    /// Whether nothing more may be written.
    pub fn is_low(&self) -> bool {
        self.room() == 0
    }
}

/// Why nothing more is written, though the disk may have room.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("{}", self.text())]
pub struct DiskLow(DiskUsage);

impl DiskLow {
    fn text(&self) -> String {
        let DiskUsage { used, free, budget, low_water, .. } = self.0;
        let mebibytes = |bytes: u64| bytes >> 20;
        let left = match budget {
            Some(budget) if budget.saturating_sub(used) < free => {
                format!(
                    "the data directory takes {} of the {} MiB that it may take",
                    mebibytes(used),
                    mebibytes(budget)
                )
            }
            _ => format!("the disk of the data directory has {} MiB left", mebibytes(free)),
        };
        format!(
            "{left}, and {} MiB are kept free. Delete datasets, versions or jobs, or start the service with other values of \
             --max-disk and --min-free-disk",
            mebibytes(low_water)
        )
    }
}

/// The disk of one data directory; clones share it.
#[derive(Debug, Clone)]
pub struct Disk {
    root: PathBuf,
    limits: Option<DiskLimits>,
    measured: Arc<Mutex<Option<(Instant, DiskUsage)>>>,
}

impl Disk {
    /// Without limits: until the disk is full.
    pub fn unlimited(root: &Path) -> Self {
        Self { root: root.to_owned(), limits: None, measured: Arc::default() }
    }

    /// With these limits.
    pub fn limited(root: &Path, limits: DiskLimits) -> Self {
        Self { limits: Some(limits), ..Self::unlimited(root) }
    }

    /// Measured within the last second.
    pub fn usage(&self) -> io::Result<DiskUsage> {
        self.measure(&mut self.measured())
    }

    /// Refuses if the disk is at its low-water mark.
    pub fn check(&self) -> io::Result<()> {
        self.grant(1)
    }

    /// Counts bytes that are about to be written; refuses those for which there is no room.
    pub fn grant(&self, bytes: u64) -> io::Result<()> {
        if self.limits.is_none() {
            return Ok(());
        }
        let mut measured = self.measured();
        let usage = self.measure(&mut measured)?;
        if usage.room() < bytes {
            return Err(io::Error::new(ErrorKind::StorageFull, DiskLow(usage)));
        }
        if let Some((_, usage)) = measured.as_mut() {
            usage.used += bytes;
            usage.free = usage.free.saturating_sub(bytes);
        }
        Ok(())
    }

    fn measure(&self, measured: &mut MutexGuard<'_, Option<(Instant, DiskUsage)>>) -> io::Result<DiskUsage> {
        if let Some((at, usage)) = **measured
            && at.elapsed() < FRESH
        {
            return Ok(usage);
        }
        let system = statvfs(&self.root)?;
        let limits = self.limits.unwrap_or_default();
        let total = system.f_blocks.saturating_mul(system.f_frsize);
        let usage = DiskUsage {
            used: size_of_files(&self.root)?,
            free: system.f_bavail.saturating_mul(system.f_frsize),
            total,
            budget: limits.budget,
            low_water: limits.low_water.unwrap_or_else(|| (total / FREE_SHARE).min(MOST_FREE)),
        };
        **measured = Some((Instant::now(), usage));
        Ok(usage)
    }

    fn measured(&self) -> MutexGuard<'_, Option<(Instant, DiskUsage)>> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of all files under a folder. Files that go meanwhile count nothing.
fn size_of_files(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let size = match entry.metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Ok(metadata) if metadata.is_dir() => size_of_files(&entry.path()).or_else(|error| match error.kind() {
                ErrorKind::NotFound | ErrorKind::PermissionDenied => Ok(0), // gone, or somebody else's
                _ => Err(error),
            }),
            metadata => metadata.map(|metadata| metadata.len()),
        };
        bytes += size?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(folder: &Path, budget: u64, low_water: u64) -> Disk {
        Disk::limited(folder, DiskLimits { budget: Some(budget), low_water: Some(low_water) })
    }

    #[test]
    fn what_is_granted_counts_before_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("inner/file"), vec![0; 3_000]).unwrap();
        let disk = disk(folder.path(), 10_000, 1_000);
        assert_eq!((disk.usage().unwrap().used, disk.usage().unwrap().room()), (3_000, 6_000));
        disk.grant(4_000).unwrap();
        assert_eq!(disk.usage().unwrap().room(), 2_000);
        let refusal = disk.grant(2_001).unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::StorageFull);
        assert!(refusal.to_string().contains("--max-disk"), "{refusal}");
        disk.grant(2_000).unwrap();
        assert!(disk.check().is_err() && disk.usage().unwrap().is_low());
    }

    #[test]
    fn the_low_water_mark_holds_for_the_disk_too() {
        let folder = tempfile::tempdir().unwrap();
        let limits = DiskLimits { budget: None, low_water: Some(u64::MAX / 2) };
        let refusal = Disk::limited(folder.path(), limits).check().unwrap_err();
        assert!(refusal.to_string().starts_with("the disk of the data directory has"), "{refusal}");
        Disk::unlimited(folder.path()).grant(u64::MAX).unwrap();
        let usage = Disk::limited(folder.path(), DiskLimits::default()).usage().unwrap();
        assert!(usage.low_water <= MOST_FREE && usage.low_water <= usage.total / FREE_SHARE);
    }
}
