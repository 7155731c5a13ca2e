//! The `bochner` binary.

/// Requests are made of small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    bochner::cli::Cli::read().run()
}
