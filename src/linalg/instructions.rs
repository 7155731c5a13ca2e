//! Which vector instructions are used for how many rows.

use pulp::Arch;

/// From this many rows on the widest vectors of the machine are used.
const BULK_ROWS: usize = 16;

/// The vector instructions for work on this many rows. Vectors of 512 bits lower the clock of the core for about a
/// millisecond, network stack included, so they pay only in bulk. The results are the same bits with either: every lane
/// does the same operations in the same order.
pub fn instructions_for(rows: usize) -> Arch {
    #[cfg(target_arch = "x86_64")]
    if rows < BULK_ROWS
        && let Some(narrow) = pulp::x86::V3::try_new()
    {
        return Arch::V3(narrow);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = rows < BULK_ROWS;
    Arch::new()
}
