//! Which vector instructions are used for how many rows.

use pulp::Arch;
use std::sync::OnceLock;

/// From this many rows on the widest vectors of the machine are used.
const BULK_ROWS: usize = 16;

/// What this process was told to use instead of the widest vectors.
static FORCED: OnceLock<InstructionSet> = OnceLock::new();

/// The vector instructions for work on this many rows. Vectors of 512 bits lower the clock of the core for about a
/// millisecond, network stack included, so they pay only in bulk. The results are the same bits with either: every lane
/// does the same operations in the same order.
pub fn instructions_for(rows: usize) -> Arch {
    #[cfg(target_arch = "x86_64")]
    if rows < BULK_ROWS
        && FORCED.get() != Some(&InstructionSet::Scalar)
        && let Some(narrow) = pulp::x86::V3::try_new()
    {
        return Arch::V3(narrow);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = rows < BULK_ROWS;
    bulk_instructions()
}

/// The vector instructions for bulk work: the widest of the machine, unless others were forced.
pub fn bulk_instructions() -> Arch {
    FORCED.get().and_then(|set| set.arch()).unwrap_or_default()
}

/// The instructions that bulk work uses. Our own kernels give the same bits with all of them.
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

/// A machine lacks the instructions that it was told to use.
#[derive(Debug, thiserror::Error)]
#[error("{wanted} instructions are asked for, which this machine does not have; its own are {own}")]
pub struct MissingInstructions {
    wanted: &'static str,
    own: &'static str,
}

impl InstructionSet {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Avx2, Self::Avx512, Self::Neon];

    /// The widest that this machine has.
    pub fn of_this_machine() -> Self {
        let is_there = |set: &&Self| set.arch().is_some();
        *[Self::Avx512, Self::Avx2, Self::Neon].iter().find(is_there).unwrap_or(&Self::Scalar)
    }

    /// What bulk work of this process uses.
    pub fn in_use() -> Self {
        FORCED.get().copied().unwrap_or_else(Self::of_this_machine)
    }

    /// Has all bulk work of this process use these instructions. Called before any of it; the first call counts.
    pub fn force(self) -> Result<(), MissingInstructions> {
        match self.arch() {
            Some(_) => {
                FORCED.get_or_init(|| self);
                Ok(())
            }
            None => Err(MissingInstructions { wanted: self.name(), own: Self::of_this_machine().name() }),
        }
    }

    /// The instructions as kernels take them, where this machine has them.
    pub(crate) fn arch(self) -> Option<Arch> {
        match self {
            Self::Scalar => Some(Arch::Scalar),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => pulp::x86::V3::try_new().map(Arch::V3),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => pulp::x86::V4::try_new().map(Arch::V4),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => None,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => pulp::aarch64::Neon::try_new().map(Arch::Neon),
            #[cfg(not(target_arch = "aarch64"))]
            Self::Neon => None,
        }
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
        Self::ALL.into_iter().find(|set| set.number() == number)
    }
}
