//! How much memory the process may use.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Bytes of memory for this process when it started: the machine's, or less where a control group (a container, a
/// systemd unit) limits it.
pub(crate) fn memory_limit() -> u64 {
    static LIMIT: OnceLock<u64> = OnceLock::new();
    *LIMIT.get_or_init(|| limit_under(Path::new("/")))
}

/// The same with `/proc` and `/sys` of another root. Without either, no limit is known.
fn limit_under(root: &Path) -> u64 {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let machine = machine_memory(&read("proc/meminfo")).unwrap_or(u64::MAX);
    let groups = read("proc/self/cgroup");
    groups.lines().filter_map(|line| group_limit(root, line)).fold(machine, u64::min)
}

fn machine_memory(meminfo: &str) -> Option<u64> {
    let kibibytes = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.strip_suffix("kB"))?;
    kibibytes.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
}

/// The smallest limit of the group in a line of `/proc/self/cgroup`, `id:controllers:path`, and of the groups it is in.
/// A container may see its own group as the root of all while the path is the one outside, so each ancestor counts
/// where it exists.
fn group_limit(root: &Path, line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
    let (mount, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => ("sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        _ => return None,
    };
    let limit = |group: &Path| fs::read_to_string(root.join(mount).join(group).join(file)).ok()?.trim().parse().ok();
    Path::new(path).ancestors().filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit on a system with these files.
    fn limit(files: &[(&str, &str)]) -> u64 {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        limit_under(root.path())
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:          302508 kB\n");

    #[test]
    fn without_groups_it_is_the_memory_of_the_machine() {
        assert_eq!(limit(&[MACHINE]), 8 << 30);
        assert_eq!(limit(&[]), u64::MAX);
    }

    #[test]
    fn version_two_takes_the_smallest_of_a_group_and_those_it_is_in() {
        let group = ("proc/self/cgroup", "0::/system.slice/bochner.service\n");
        let unlimited = ("sys/fs/cgroup/system.slice/bochner.service/memory.max", "max\n");
        assert_eq!(limit(&[MACHINE, group, unlimited]), 8 << 30);
        let slice = ("sys/fs/cgroup/system.slice/memory.max", "2147483648\n");
        assert_eq!(limit(&[MACHINE, group, unlimited, slice]), 2 << 30);
        let container = [MACHINE, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "536870912\n")];
        assert_eq!(limit(&container), 512 << 20);
    }

    #[test]
    fn version_one_in_a_container_sees_its_group_as_the_root() {
        let groups = ("proc/self/cgroup", "9:name=systemd:/docker/1f\n4:cpu,memory:/docker/1f\n0::/\n");
        let file = "sys/fs/cgroup/memory/memory.limit_in_bytes";
        assert_eq!(limit(&[MACHINE, groups, (file, "1073741824\n")]), 1 << 30);
        assert_eq!(limit(&[MACHINE, groups, (file, "9223372036854771712\n")]), 8 << 30);
    }
}
