# shellcheck shell=bash
# The demo on docker-compose.yml: load, a dispatcher's container killed in the middle, the judge. Sourced by test.sh.

readonly PROJECT=tidings-test
DEMO_STARTED=''

run_demo() {
    say "starting everything through docker-compose.yml"
    DEMO_STARTED=yes
    compose config --quiet
    quietly compose up --detach --no-build
    wait_for 120 all_healthy || give_up "not everything becomes healthy"
    slow_platform || give_up "the simulator takes no script"
    commit_and_kill
    judge
}

compose() { docker-compose --project-name "$PROJECT" "$@" 9>&-; }

# run_in_image OPTION...: a program of the image, beside the relay and with its variables
run_in_image() { compose run --rm -T --no-deps "$@" </dev/null; }

all_healthy() {
    local service state
    for service in jaeger simulator relay dispatcher-1 dispatcher-2; do
        state=$(docker inspect --format '{{.State.Health.Status}}' "$(compose ps --quiet "$service")" 2>/dev/null) || return 1
        [[ $state == healthy ]] || return 1
    done
}

# So that some calls are in flight when the dispatcher dies.
slow_platform() {
    local script='{"default_latency_ms": {"mean": 20, "jitter": 10}}' status
    exec 3<>/dev/tcp/127.0.0.1/18088
    printf 'PUT /sim/script HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
        "${#script}" "$script" >&3
    read -r _ status _ <&3
    exec 3>&-
    [[ $status == 2* ]]
}

commit_and_kill() {
    local load killed
    say "committing the events of $ORDERS orders"
    run_in_image relay load --orders "$ORDERS" --rate 500 --json >"$WORK/load.json" 2>"$WORK/load.progress" &
    load=$!
    killed=$(owner_of dispatcher-2) || give_up "dispatcher-2 does not say who it is"
    wait_for 60 load_is_under_way || give_up "the load does not begin"
    quietly compose kill -s KILL dispatcher-2
    say "killed dispatcher-2 with -9"
    quietly compose start dispatcher-2
    say "started dispatcher-2 again"
    wait "$load" || give_up "the load failed: $(tail -n 5 "$WORK/load.progress")"
    KILLED=$killed
}

# The incarnation of a worker, which the judge knows it by.
owner_of() {
    compose exec -T "$1" cat /tmp/address </dev/null | sed -n 's/.*"owner":"\([0-9a-f-]*\)".*/\1/p' | grep .
}

load_is_under_way() { grep -q ' of .* orders' "$WORK/load.progress"; }

judge() {
    local run
    run=$(sed -n 's/.*"run":"\([^"]*\)".*/\1/p' "$WORK/load.json")
    say "waiting for the last messages; then the judge"
    run_in_image --entrypoint tidings-judge relay --run "$run" --killed "$KILLED" --require-delivery \
        >"$WORK/judged" 2>"$WORK/judge.errors" || cat "$WORK/judge.errors" >&2
    head -n -1 "$WORK/judged"
    # Its exit code says no more than this line.
    tail -n 1 "$WORK/judged" >"$VERDICT"
}

give_up() {
    compose ps >&2
    compose logs --tail 30 --no-color >&2
    fail "$@"
}

stop_demo() {
    [[ -n $DEMO_STARTED ]] && docker_answers || return 0
    compose down --volumes --remove-orphans --timeout 10 >/dev/null 2>&1 || true
}
