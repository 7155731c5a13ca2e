//! The `bochner-worker` binary: what executors of a cluster run next to their rows. It links no BLAS.

/// As the service has it, so that passes cost the same.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    bochner::cli::WorkerCli::read().run()
}
