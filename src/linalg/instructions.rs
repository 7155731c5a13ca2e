//! Which vector instructions are used for how much work.

use pulp::Arch;

/// From so many rows on all that the machine has is used.
const BULK_ROWS: usize = 16;

/// The vector instructions for work on so many rows. Those of 512 bits slow the whole core down for about a
/// millisecond, the network stack included, so that they pay in bulk only. The numbers are the same with either:
/// every lane does the same operations in the same order.
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
