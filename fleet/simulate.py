"""What a fleet costs, by simulation of measured parts: simulate.py [TRACES] [EXECUTORS] [CORES_EACH] [MB_PER_S_EACH].

Nothing is exported. Each trace gets a size around that of a 16 GiB machine; its work is the measured processor time for a
million pages and what each run costs in any case; an executor reads its trace over its own disk or network meanwhile, one trace
for each two cores. Executors take the next trace when they are done, as Spark's do.
"""

import heapq
import random
import sys

# Measured on one trace of 4,194,304 pages (docs/fleet.md says how): seconds of processor time and bytes for a million pages.
MEASURED = {"without --pages": (0.32, 1_220_000), "with --pages": (0.97, 4_640_000)}
# Start of the program and of the Python around it, seconds of processor time; bytes of tables that do not grow with the pages.
EACH_RUN = (0.25, 60_000)
TRACE_BYTES = 49.25 * 1_000_000
PAGES = 4.194304


def simulate(traces, executors, cores, mb_per_s, measured):
    seconds, table_bytes = measured
    rng = random.Random(1)
    slots = [(0.0, slot) for slot in range(executors * max(1, cores // 2))]
    all_bytes = all_seconds = all_read = 0.0
    for _ in range(traces):
        pages = PAGES * rng.uniform(0.8, 1.2)
        work = EACH_RUN[0] + seconds * pages
        read = TRACE_BYTES * pages
        # Two cores share the work; an executor's bandwidth is shared by its slots.
        lasts = max(work / min(2, cores), read / (mb_per_s * 1e6 / max(1, cores // 2)))
        free, slot = heapq.heappop(slots)
        heapq.heappush(slots, (free + lasts, slot))
        all_bytes, all_seconds, all_read = all_bytes + EACH_RUN[1] + table_bytes * pages, all_seconds + work, all_read + read
    return all_bytes, all_seconds / 3600, all_read, max(slots)[0] / 60


def main():
    traces, executors, cores, mb_per_s = (int(a) for a in (sys.argv[1:] + ["10000", "10", "8", "500"][len(sys.argv) - 1:]))
    print(f"{traces:,} traces of machines with about 16 GiB; {executors} executors of {cores} cores, {mb_per_s} MB/s each")
    for name, measured in MEASURED.items():
        size, hours, read, minutes = simulate(traces, executors, cores, mb_per_s, measured)
        print(f"{name}: {size / 1e9:.0f} GB of tables, {hours:.1f} core-hours, {read / 1e12:.2f} TB read, {minutes:.0f} minutes")


main()
