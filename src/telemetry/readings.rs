//! Figures of the whole service that are read when the metrics are: the build, the disk, the queue, the process.

use super::process::ProcessMetrics;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;

/// Which build this is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
    architecture: &'static str,
    os: &'static str,
}

/// Figures that are set before the metrics are rendered; clones share them.
#[derive(Clone)]
pub struct Readings {
    disk_used: Gauge,
    disk_free: Gauge,
    disk_room: Gauge,
    oldest_queued: Gauge<f64, AtomicU64>,
    process: ProcessMetrics,
}

impl Readings {
    pub(super) fn register(registry: &mut Registry, process: ProcessMetrics) -> Self {
        let build = Family::<BuildLabels, Gauge>::default();
        registry.register("build_info", "Always 1; the labels say which build runs", build.clone());
        let labels = BuildLabels {
            version: env!("CARGO_PKG_VERSION"),
            architecture: std::env::consts::ARCH,
            os: std::env::consts::OS,
        };
        build.get_or_create(&labels).set(1);
        let (disk_used, disk_free, disk_room) = (Gauge::default(), Gauge::default(), Gauge::default());
        let help = "Size of the files in the data directory";
        registry.register_with_unit("disk_used", help, Unit::Bytes, disk_used.clone());
        let help = "Free space of the file system of the data directory";
        registry.register_with_unit("disk_free", help, Unit::Bytes, disk_free.clone());
        let help = "What may be written before uploads and jobs are refused with 507";
        registry.register_with_unit("disk_room", help, Unit::Bytes, disk_room.clone());
        let oldest_queued = Gauge::default();
        let help = "Age of the job that has waited longest; 0 if none waits";
        registry.register_with_unit("oldest_queued_job", help, Unit::Seconds, oldest_queued.clone());
        Self { disk_used, disk_free, disk_room, oldest_queued, process }
    }

    /// Sets the bytes that the data directory takes, that the file system has left, and that may be written.
    pub fn set_disk(&self, used: u64, free: u64, room: u64) {
        for (gauge, bytes) in [(&self.disk_used, used), (&self.disk_free, free), (&self.disk_room, room)] {
            gauge.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
    }

    /// Sets the age of the job that has waited longest.
    pub fn set_oldest_queued(&self, seconds: f64) {
        self.oldest_queued.set(seconds);
    }

    /// Reads what the system says of this process.
    pub fn read_process(&self) {
        self.process.read();
    }
}
