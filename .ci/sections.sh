# Sections of .ci/run and .ci/full: sourced by both.
#
# A section is a function, which ends with its first command that fails. Its output goes to a log, and is printed with its times
# when the section has ended. The first section that fails ends the run.

logs=target/ci
mkdir -p "$logs"

fail() {
    echo "$1" >&2
    exit 1
}

at() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# What bash's `times` counted of a shell and of what it ran: lines of two times as 1m2.345s.
processor_seconds() {
    tr 'ms ' '  \n' <"$1" | awk '{ sum += $1 * 60 + $2 } END { printf "%d", sum }'
}

# section FUNCTION TITLE...: runs it. Lanes print one after the other.
section() {
    local name=$1 begin=$SECONDS status
    shift
    [ ! -e "$logs/failed" ] || exit 1
    # Not with ||, nor in an `if`: bash then ignores -e in the function too, and goes on after what failed.
    set +e
    (
        trap 'times >"$logs/$name.times"' EXIT
        set -euo pipefail
        "$name"
    ) >"$logs/$name.log" 2>&1
    status=$?
    set -e
    {
        flock 9
        printf '\n=== %s: %s (from %s to %s, %s s of processors)\n' "$*" "$(at $((SECONDS - begin)))" "$(at "$begin")" \
            "$(at $SECONDS)" "$(processor_seconds "$logs/$name.times")"
        tail -n 400 "$logs/$name.log"
        if [ $status != 0 ]; then
            printf '\nFAILED in section: %s (whole log: %s)\n' "$*" "$logs/$name.log"
            touch "$logs/failed"
        fi
    } 9>"$logs/print.lock"
    [ $status = 0 ] || exit 1
}

# What a Debian machine has packages for. One apt-get at a time; without root or apt-get the sections that need a program say so.
packages() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 0
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qy install --no-install-recommends "$@" >>"$logs/packages.log" 2>&1 ||
        echo "cannot install: $*"
}

rust_target() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] || rustup target add "$1" >/dev/null 2>&1 || true
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]
}

# fuzz_all SECONDS: each target that long, two at a time.
fuzz_one() {
    local target=$1 log="$logs/fuzz-$1.log"
    if fuzz/run "$target" -max_total_time="$fuzz_seconds" -print_final_stats=1 >"$log" 2>&1; then
        printf '%-20s %s, %s\n' "$target" "$(sed -n 's/^Done \([0-9]* runs\).*/\1/p' "$log")" \
            "$(sed -n 's/.*DONE *\(cov: [0-9]*\).*/\1/p' "$log")"
    else
        printf '%-20s FAILED; again with: fuzz/run %s fuzz/artifacts/%s/...\n' "$target" "$target" "$target"
        tail -n 60 "$log"
        return 1
    fi
}

fuzz_all() {
    fuzz_seconds=$1
    export -f fuzz_one
    export logs fuzz_seconds
    fuzz/run list | xargs -P 2 -I{} bash -c 'fuzz_one {}' || fail "fuzzing found something"
}

fuzz_seeds() {
    shopt -s nullglob globstar
    local seeds=(fixtures/**/*.etl ../shared/traces/**/*.etl)
    fuzz/run seeds ${seeds[@]+"${seeds[@]}"}
}
