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

/// The instructions that bulk work of this machine uses. Our own kernels give the same bits with all of them; those of BLAS,
/// which projects rows of many inputs, may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionSet {
    /// No vectors.
    Scalar,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512.
    Avx512,
    /// 64-bit ARM.
    Neon,
}

impl InstructionSet {
    /// What this machine has.
    pub fn of_this_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        if pulp::x86::V4::try_new().is_some() {
            return Self::Avx512;
        } else if pulp::x86::V3::try_new().is_some() {
            return Self::Avx2;
        }
        if cfg!(target_arch = "aarch64") { Self::Neon } else { Self::Scalar }
    }

    /// As in refusals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
            Self::Neon => "NEON",
        }
    }

    /// As in files.
    pub fn number(self) -> u32 {
        match self {
            Self::Scalar => 1,
            Self::Avx2 => 2,
            Self::Avx512 => 3,
            Self::Neon => 4,
        }
    }

    /// The set of a number from a file.
    pub fn numbered(number: u32) -> Option<Self> {
        [Self::Scalar, Self::Avx2, Self::Avx512, Self::Neon].into_iter().find(|set| set.number() == number)
    }
}
