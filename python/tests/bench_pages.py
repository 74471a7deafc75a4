"""How long `pages()` of a large trace takes until Polars has it, and what is copied: python bench_pages.py TRACE [ROUNDS].

    cargo run --release --package etl-writer --example machines -- FOLDER 1 4194304
"""

import resource
import sys
import time

import pfnset
import polars


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    path, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    begin = time.perf_counter()
    trace = pfnset.open(path)
    print(f"open: {time.perf_counter() - begin:.2f} s")
    took = []
    for _ in range(rounds):
        begin = time.perf_counter()
        pages = trace.pages()
        made = time.perf_counter()
        before = peak_mib()
        frame = pages.to_polars()
        took.append((time.perf_counter() - begin, made - begin))
        more = peak_mib() - before
        rows, mib = len(frame), pages.nbytes / 2**20
        del frame, pages
    whole, made = sorted(took)[len(took) // 2]
    print(f"{rows:,} rows, {mib:.0f} MiB: {whole:.2f} s until Polars has them, of it pages() {made:.2f} s; the peak grew by {more:.0f} MiB in to_polars")
    assert more < mib / 2, "a second copy"


main()
