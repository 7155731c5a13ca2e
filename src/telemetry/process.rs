//! What the system says of this process, under the names that Prometheus' own libraries use.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::fs;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// Figures of `/proc/self`; where there is none, they stay 0. Clones share them.
#[derive(Clone, Default)]
pub(super) struct ProcessMetrics {
    cpu_seconds: Counter<f64, AtomicU64>,
    /// What was counted so far.
    counted: Arc<Mutex<f64>>,
    resident_bytes: Gauge,
    virtual_bytes: Gauge,
    start_time: Gauge<f64, AtomicU64>,
    open_files: Gauge,
    most_files: Gauge,
    threads: Gauge,
}

/// What `/proc/self` says.
#[derive(Debug, Default, PartialEq)]
struct Figures {
    cpu_seconds: f64,
    /// After the start of the system.
    start_seconds: f64,
    threads: i64,
    virtual_bytes: i64,
    resident_bytes: i64,
}

impl ProcessMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let help = "Processor time of this process";
        registry.register_with_unit("process_cpu", help, Unit::Seconds, metrics.cpu_seconds.clone());
        let help = "Resident memory";
        registry.register_with_unit("process_resident_memory", help, Unit::Bytes, metrics.resident_bytes.clone());
        let help = "Virtual memory";
        registry.register_with_unit("process_virtual_memory", help, Unit::Bytes, metrics.virtual_bytes.clone());
        let help = "Start of this process, in seconds since 1970";
        registry.register_with_unit("process_start_time", help, Unit::Seconds, metrics.start_time.clone());
        registry.register("process_open_fds", "Open file descriptors", metrics.open_files.clone());
        registry.register("process_max_fds", "Limit of open file descriptors", metrics.most_files.clone());
        registry.register("process_threads", "Threads of this process", metrics.threads.clone());
        metrics
    }

    pub(super) fn read(&self) {
        let page = i64::try_from(rustix::param::page_size()).unwrap_or(4096);
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let figures = fs::read_to_string("/proc/self/stat").ok().and_then(|stat| figures(&stat, ticks, page));
        if let Some(figures) = figures {
            let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
            self.cpu_seconds.inc_by((figures.cpu_seconds - *counted).max(0.0));
            *counted = counted.max(figures.cpu_seconds);
            self.resident_bytes.set(figures.resident_bytes);
            self.virtual_bytes.set(figures.virtual_bytes);
            self.threads.set(figures.threads);
            let boot = fs::read_to_string("/proc/stat").ok().and_then(|stat| boot_time(&stat));
            self.start_time.set(boot.map_or(0.0, |boot| boot + figures.start_seconds));
        }
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            self.open_files.set(i64::try_from(files.count()).unwrap_or(i64::MAX).saturating_sub(1)); // but this folder
        }
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        self.most_files.set(limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(i64::MAX));
    }
}

/// Reads `/proc/…/stat`. The name of the process, in brackets, may hold anything.
fn figures(stat: &str, ticks: f64, page: i64) -> Option<Figures> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<i64>().ok(); // fields from 3 on, as proc(5) counts them
    Some(Figures {
        cpu_seconds: (number(14)? + number(15)?) as f64 / ticks,
        threads: number(20)?,
        start_seconds: number(22)? as f64 / ticks,
        virtual_bytes: number(23)?,
        resident_bytes: number(24)?.saturating_mul(page),
    })
}

/// Seconds since 1970 of the start of the system.
fn boot_time(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_read_whatever_the_name_of_the_process() {
        let stat =
            "42 (a ) b) S 1 42 42 0 -1 4194304 900 0 0 0 250 50 0 0 20 0 7 0 1000 123456789 2000 18446744073709551615";
        let expected = Figures {
            cpu_seconds: 3.0,
            start_seconds: 10.0,
            threads: 7,
            virtual_bytes: 123_456_789,
            resident_bytes: 2000 * 4096,
        };
        assert_eq!(figures(stat, 100.0, 4096), Some(expected));
        assert_eq!(figures("42 (short) S", 100.0, 4096), None);
        assert_eq!(boot_time("cpu 1 2\nbtime 1700000000\n"), Some(1.7e9));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_threads_and_files() {
        let metrics = ProcessMetrics::default();
        metrics.read();
        assert!(metrics.resident_bytes.get() > 1 << 20 && metrics.virtual_bytes.get() > metrics.resident_bytes.get());
        assert!(metrics.threads.get() >= 1 && (3..metrics.most_files.get()).contains(&metrics.open_files.get()));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        assert!((now - metrics.start_time.get()).abs() < 3600.0 * 24.0);
        let before = metrics.cpu_seconds.get();
        metrics.read();
        assert!(metrics.cpu_seconds.get() >= before);
    }
}
