//! The `pfnset` program. All of it is in the library, in `cli`.

use std::process::ExitCode;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    pfnset::unstable_api::main()
}
