#!/usr/bin/env bash
# `make test-containers`: tests on servers in containers, and the whole of it through docker-compose.yml.
#
# Installs Docker where it is missing, and starts a daemon of its own where none runs. Images that cannot be pulled are
# replaced by stand-ins that are made here, under the same names and with the same variables. Leaves nothing running. The
# last line is the judge's JSON object; the exit code is 1 if anything broke.
#
#   XDG_CACHE_HOME  where a daemon of its own keeps its images, in the folder `tidings` (default ~/.cache)
#   ORDERS          how many orders the demo commits (default 1500)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=deploy/stack/versions.env
source deploy/stack/versions.env
# shellcheck source=deploy/containers/daemon.sh
source deploy/containers/daemon.sh
# shellcheck source=deploy/containers/images.sh
source deploy/containers/images.sh
# shellcheck source=deploy/containers/demo.sh
source deploy/containers/demo.sh

readonly CACHE="${XDG_CACHE_HOME:-${HOME:?HOME or XDG_CACHE_HOME must be set}/.cache}/tidings"
readonly ORDERS="${ORDERS:-1500}"
export TIDINGS_IMAGE=tidings:test
WORK=$(mktemp -d)
# Outlives the rest: it is printed when all has been cleaned up.
readonly VERDICT=$WORK.verdict

main() {
    trap clean_up EXIT
    allow_one_run
    deploy/setup.sh containers
    build_programs
    use_docker
    provide_images
    build_image
    run_smoke_tests
    run_demo
    trap - EXIT
    clean_up
    conclude
}

conclude() {
    local verdict
    verdict=$(cat "$VERDICT")
    rm "$VERDICT"
    printf '%s\n' "$verdict"
    [[ $verdict == *'"ok":true'* ]]
}

say() { printf '%5d s  %s\n' "$SECONDS" "$*"; }

fail() {
    printf 'test-containers: %s\n' "$@" >&2
    exit 1
}

as_root() { if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi; }

# Two runs would share a daemon's folder, and the ports of docker-compose.yml.
allow_one_run() {
    mkdir -p "$CACHE"
    exec 9>"$CACHE/containers.lock"
    flock --nonblock 9 || fail "another run is under way; wait for it to end"
}

# quietly COMMAND...: its output is shown only if it fails
quietly() {
    if ! "$@" </dev/null >"$WORK/log" 2>&1; then
        tail -n 40 "$WORK/log" >&2
        fail "$* failed (the end of its output is above)"
    fi
}

# One selection of packages for building and running, so that nothing is built twice.
cargo_tests() {
    cargo test --quiet -p tidings-stack -p tidings-edge -p tidings-tests --features tidings-stack/containers \
        --test stack --test real_parts --test e2e "$@" 9>&-
}

build_programs() {
    say "building the programs and their tests"
    cargo build --quiet -p tidings -p tidings-judge 9>&-
    cargo_tests --no-run
}

run_smoke_tests() {
    say "running tests on servers in containers (testcontainers)"
    TIDINGS_STACK=containers cargo_tests -- every_part_answers databases_are_made_once containers:: \
        kafka:: postgres:: registry:: texts::
}

clean_up() {
    stop_demo
    remove_stand_ins
    release_root
    stop_daemon
    rm -rf "$WORK"
}

main
