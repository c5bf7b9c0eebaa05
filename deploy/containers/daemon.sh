# shellcheck shell=bash
# Docker's daemon: the one that runs, else one of our own, with its images in the cache. Sourced by test.sh.

OWN_DAEMON=''

use_docker() {
    if docker_answers; then
        say "using the Docker daemon that runs here"
    else
        start_daemon
    fi
    # Docker's newer builder is an extra program that need not be there.
    docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0
}

docker_answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# Needs root. It changes nothing of the machine's network but for its own bridge: containers reach each other on it, and
# ports are published by a proxy process each, so neither packet filters nor forwarding are needed.
start_daemon() {
    say "no Docker daemon runs here; starting one (images: $CACHE/docker)"
    OWN_DAEMON=$(mktemp -d /tmp/tidings-docker-XXXXXX) # a short path: a socket's has 107 bytes
    ip link show docker0 >/dev/null 2>&1 && touch "$OWN_DAEMON/had-bridge"
    export DOCKER_HOST=unix://$OWN_DAEMON/docker.sock
    # In a session of its own: Ctrl-C is for us, and we stop it when its containers are gone.
    as_root setsid dockerd --data-root "$CACHE/docker" --exec-root "$OWN_DAEMON/exec" --pidfile "$OWN_DAEMON/pid" \
        --host "$DOCKER_HOST" --group "$(id -g)" --iptables=false --ip-forward=false --ip-masq=false \
        </dev/null >"$OWN_DAEMON/log" 2>&1 9>&- &
    wait_for 60 docker_answers || {
        tail -n 20 "$OWN_DAEMON/log" >&2
        fail "dockerd does not start (the end of its log is above)"
    }
}

# wait_for SECONDS COMMAND...: until the command succeeds; fails when it has not by then
wait_for() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < until)) || return 1
        sleep 0.2
    done
}

stop_daemon() {
    [[ -n $OWN_DAEMON ]] || return 0
    local pid
    pid=$(cat "$OWN_DAEMON/pid" 2>/dev/null) || return 0
    as_root kill "$pid"
    wait_for 60 has_ended "$pid" || as_root kill -KILL "$pid"
    [[ -e $OWN_DAEMON/had-bridge ]] || as_root ip link delete docker0 2>/dev/null || true
    as_root rm -rf "$OWN_DAEMON"
}

has_ended() { [[ ! -d /proc/$1 ]]; }
