//! Caps on connections: how many in total and from one address, and how long each may take.

use crate::config::Config;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Connections beyond the caps that are open at the same time, to answer health checks.
pub(crate) const SPARE_CONNECTIONS: usize = 32;

/// Open files that are kept free for everything else: the database, tables, uploads, models.
const OTHER_FILES: usize = 192;

/// How many connections there may be, and how long each may take.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Most connections.
    pub total: usize,
    /// Most connections of one address.
    pub per_address: usize,
    /// How long a connection may be idle.
    pub idle: Duration,
    /// How long the head of a request may take to arrive.
    pub head: Duration,
}

impl ConnectionLimits {
    /// As configured, within what the limit of open files leaves.
    pub fn new(config: &Config) -> Self {
        let wanted = config.max_connections;
        let total = open_files().map_or(wanted, |files| wanted.min(connections_within(files)));
        if total < wanted {
            tracing::debug!(total, wanted, "the limit of open files leaves room for fewer connections");
        }
        // One client cannot take all. Behind a proxy all clients share one address, so that most of them are its.
        let per_address = config.max_connections_per_address.unwrap_or((total * 3).div_ceil(4)).min(total);
        Self {
            total,
            per_address,
            idle: Duration::from_secs(config.connection_idle_seconds),
            head: Duration::from_secs(config.head_timeout_seconds),
        }
    }

    /// How often connections are checked, so that a limit is exceeded by at most half.
    pub(crate) fn check_interval(&self) -> Duration {
        self.idle.min(self.head) / 2
    }

    /// The checks that an idle connection survives.
    pub(crate) fn idle_checks(&self) -> u32 {
        checks(self.idle, self.check_interval())
    }

    /// The checks that an unfinished head survives.
    pub(crate) fn head_checks(&self) -> u32 {
        checks(self.head, self.check_interval())
    }
}

fn checks(limit: Duration, interval: Duration) -> u32 {
    limit.div_duration_f64(interval).ceil() as u32
}

/// At least one connection, however few files may be open.
fn connections_within(files: usize) -> usize {
    files.saturating_sub(OTHER_FILES.min(files / 2) + SPARE_CONNECTIONS).max(1)
}

/// The most files that this process may have open; none if there is no limit.
fn open_files() -> Option<usize> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok())
}

/// The connections that are open, by address.
pub(crate) struct OpenConnections {
    limits: ConnectionLimits,
    counts: Mutex<OpenCounts>,
}

#[derive(Default)]
struct OpenCounts {
    total: usize,
    by_address: HashMap<IpAddr, usize>,
}

impl OpenConnections {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, counts: Mutex::default() })
    }

    /// Counts a connection until the returned value is dropped; none if a cap is reached.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Admitted> {
        let address = client(address);
        let mut counts = self.counts();
        let of_address = counts.by_address.get(&address).copied().unwrap_or(0);
        if counts.total >= self.limits.total || of_address >= self.limits.per_address {
            return None;
        }
        counts.total += 1;
        counts.by_address.insert(address, of_address + 1);
        Some(Admitted { open: Arc::clone(self), address })
    }

    fn counts(&self) -> MutexGuard<'_, OpenCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that counts.
pub(crate) struct Admitted {
    open: Arc<OpenConnections>,
    address: IpAddr,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut counts = self.open.counts();
        counts.total -= 1;
        match counts.by_address.get_mut(&self.address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.by_address.remove(&self.address)),
        }
    }
}

/// The address that connections are counted by: of IPv6 the first 64 bits, since one client has all that share them.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(total: usize, per_address: usize) -> ConnectionLimits {
        ConnectionLimits { total, per_address, idle: Duration::from_secs(75), head: Duration::from_secs(20) }
    }

    #[test]
    fn connections_are_capped_in_total_and_by_address() {
        let open = OpenConnections::new(limits(3, 2));
        let admit = |address: &str| open.admit(address.parse().unwrap());
        let (first, second) = (admit("192.0.2.1").unwrap(), admit("::ffff:192.0.2.1").unwrap());
        assert!(admit("192.0.2.1").is_none(), "two from one address");
        let third = admit("2001:db8::1").unwrap();
        assert!(admit("192.0.2.2").is_none(), "three in total");
        drop(first);
        let fourth = admit("2001:db8::2").unwrap();
        drop(second);
        assert!(admit("2001:db8::3").is_none(), "of the same 64 bits");
        drop((third, fourth));
        assert!(open.counts().by_address.is_empty());
    }

    #[test]
    fn a_limit_of_open_files_leaves_room_for_health_checks_and_files() {
        assert_eq!(connections_within(1024), 800);
        assert_eq!(connections_within(256), 96);
        assert_eq!(connections_within(10), 1);
    }

    #[test]
    fn connections_are_checked_at_least_twice_within_a_limit() {
        let limits = limits(1, 1);
        assert_eq!(limits.check_interval(), Duration::from_secs(10));
        assert_eq!((limits.head_checks(), limits.idle_checks()), (2, 8));
    }
}
