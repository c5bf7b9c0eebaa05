#!/usr/bin/env bash
# Prepares this machine for `make demo` and `make test`: prints what is missing and installs it.
#
#   deploy/setup.sh              what `make demo` and `make test` need
#   deploy/setup.sh compose      docker-compose as well, which checks docker-compose.yml
#   deploy/setup.sh containers   Docker as well, for `make test-containers`
#   deploy/setup.sh limit-drill  libfaketime as well, for the scenario `clock` of `make limit-drill`
#
#   NO_INSTALL=1   only prints the system packages to install; fails if any is missing
#   XDG_CACHE_HOME where the local stack's programs are kept (default ~/.cache), in the folder `tidings`
#
# Packages are installed by apt, as root or through a sudo that needs no password; on another system they are
# only printed. It never waits for an answer, and does nothing when nothing is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/stack/versions.env
source deploy/stack/versions.env

readonly WANTED=${1:-}
readonly JAVA_AT_LEAST=17 # Kafka 4 brokers and Apicurio Registry 2.6 both run on it
readonly GO_AT_LEAST=1.21 # from here on Go fetches the newer one that Jaeger asks for by itself
readonly CACHE="${XDG_CACHE_HOME:-${HOME:?HOME or XDG_CACHE_HOME must be set}/.cache}/tidings"
readonly KAFKA_FOLDER="$CACHE/kafka-$KAFKA_VERSION"
readonly REGISTRY_FOLDER="$CACHE/apicurio-registry-$REGISTRY_VERSION"
readonly JAEGER_FOLDER="$CACHE/jaeger-$JAEGER_VERSION"

main() {
    case $WANTED in
    '' | compose | containers | limit-drill) ;;
    *) fail "$WANTED is unknown; use compose, containers or limit-drill, or nothing" ;;
    esac
    require_rust
    local missing
    mapfile -t missing < <(missing_packages)
    if ((${#missing[@]})); then
        provide_packages "${missing[@]}"
    fi
    [[ -d $KAFKA_FOLDER ]] || fetch "Apache Kafka $KAFKA_VERSION (54 MB)" "$KAFKA_FOLDER" fetch_kafka
    [[ -d $REGISTRY_FOLDER ]] || fetch "Apicurio Registry $REGISTRY_VERSION (142 MB)" "$REGISTRY_FOLDER" fetch_registry
    [[ -d $JAEGER_FOLDER ]] || provide_jaeger
    say "ready"
}

say() { printf 'setup: %s\n' "$*"; }

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

# --- the Rust toolchain: apt's is too old, so it is asked for, not installed --------------------------------------

require_rust() {
    local needed found
    needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
    if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
        fail "missing: Rust $needed or newer; install it with rustup, then run this again"
    fi
    found=$(rustc --version | cut -d' ' -f2)
    version_reaches "$found" "$needed" ||
        fail "Rust $found is too old, $needed or newer is needed; run: rustup update stable"
}

# version_reaches FOUND NEEDED: whether FOUND is NEEDED or newer
version_reaches() { printf '%s\n%s\n' "$2" "$1" | sort --check=quiet --version-sort; }

# --- system packages ----------------------------------------------------------------------------------------------

# Prints the missing packages, by Debian's names, one a line.
missing_packages() {
    local tool
    for tool in gcc g++ make; do
        command -v "$tool" >/dev/null || echo "$tool"
    done
    if command -v pkg-config >/dev/null; then
        pkg-config --exists openssl || echo libssl-dev
        pkg-config --exists zlib || echo zlib1g-dev
    else
        printf '%s\n' pkg-config libssl-dev zlib1g-dev
    fi
    have_postgres_server || echo postgresql
    have_java || java_package
    have_jars || command -v mvn >/dev/null || echo maven
    [[ $WANTED != compose && $WANTED != containers ]] || missing_compose
    [[ $WANTED != containers ]] || missing_docker
    [[ $WANTED != limit-drill ]] || missing_faketime
}

missing_compose() { command -v docker-compose >/dev/null || echo docker-compose; }

missing_faketime() { compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' >/dev/null || echo faketime; }

# Docker's client alone is no Docker. debootstrap makes images where none can be pulled.
missing_docker() {
    command -v docker >/dev/null && command -v dockerd >/dev/null || echo docker.io
    command -v debootstrap >/dev/null || echo debootstrap
}

have_postgres_server() {
    compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null
}

have_java() {
    local java
    for java in "${JAVA_HOME:-}/bin/java" "$(command -v java)" /usr/lib/jvm/*/bin/java; do
        [[ -x $java ]] && (($(java_major "$java") >= JAVA_AT_LEAST)) && return
    done
    return 1
}

# java_major JAVA: its major version; 1 for the old numbering (1.8), 0 if it does not run
java_major() {
    local version
    version=$("$1" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p;T;q') || version=0
    echo "${version:-0}"
}

java_package() {
    local package
    for package in "openjdk-$JAVA_AT_LEAST-jre-headless" openjdk-21-jre-headless; do
        [[ -n $(apt-cache search --names-only "^$package\$" 2>/dev/null) ]] && echo "$package" && return
    done
    echo default-jre-headless
}

have_jars() { [[ -d $KAFKA_FOLDER && -d $REGISTRY_FOLDER ]]; }

# provide_packages NAME...: installs them, or says what to install and fails
provide_packages() {
    say "missing: $*"
    if ! command -v apt-get >/dev/null; then
        fail "this system has no apt: install the counterparts of these Debian packages, then run this again"
    fi
    if [[ -n ${NO_INSTALL:-} ]]; then
        fail "NO_INSTALL is set; run: apt-get install $*"
    fi
    if ((EUID != 0)) && ! sudo -n true 2>/dev/null; then
        fail "neither root nor sudo without a password; run: sudo apt-get install $*"
    fi
    say "reading apt's package lists"
    apt update
    if [[ " $* " == *" postgresql "* ]]; then
        forbid_default_cluster
    fi
    say "installing $*"
    apt install "$@"
}

# apt COMMAND ARGUMENT...: apt-get as root, without questions; its output is shown only if it fails
apt() {
    local log
    log=$(mktemp)
    if ! as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l apt-get --yes --no-install-recommends \
        --quiet -o DPkg::Lock::Timeout=300 "$@" </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "apt-get $* failed (its output is above)"
    fi
    rm -f "$log"
}

as_root() { if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi; }

# Debian's package makes and starts a server on port 5432; the stack brings its own, so none is wanted.
forbid_default_cluster() {
    local configuration=/etc/postgresql-common/createcluster.conf
    apt install postgresql-common
    as_root sed -i 's/^#* *create_main_cluster *=.*/create_main_cluster = false/' "$configuration"
}

# --- jars of the local stack --------------------------------------------------------------------------------------

# fetch WHAT FOLDER FUNCTION: FUNCTION fills a new folder, which becomes FOLDER at once or not at all
fetch() {
    local what=$1 folder=$2 function=$3
    say "fetching $what into $folder"
    mkdir -p "$CACHE"
    UNFINISHED=$(mktemp -d "$CACHE/unfinished-XXXXXX")
    trap 'rm -rf "$UNFINISHED"' EXIT
    mkdir "$UNFINISHED/files"
    if ! ("$function" "$UNFINISHED/files") </dev/null >"$UNFINISHED/log" 2>&1; then
        tail -n 30 "$UNFINISHED/log" >&2
        fail "fetching $what failed (the end of its output is above); run this again"
    fi
    # Another run may have been quicker: its folder is as good.
    mv -T "$UNFINISHED/files" "$folder" 2>/dev/null || [[ -d $folder ]]
    rm -rf "$UNFINISHED"
}

fetch_kafka() {
    maven org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$1" &&
        [[ -f $1/kafka_2.13-$KAFKA_VERSION.jar ]]
}

fetch_registry() {
    local artifact="apicurio-registry-app-$REGISTRY_VERSION-all.tar.gz"
    maven org.apache.maven.plugins:maven-dependency-plugin:copy -DoutputDirectory="$1" \
        -Dartifact="io.apicurio:apicurio-registry-app:$REGISTRY_VERSION:tar.gz:all" &&
        tar -xzf "$1/$artifact" -C "$1" && rm "$1/$artifact"
}

# --strict-checksums: a damaged download fails here, not in the middle of a test
maven() {
    mvn --batch-mode --no-transfer-progress --strict-checksums -Dstyle.color=never \
        -f deploy/stack/pom.xml -Dkafka.version="$KAFKA_VERSION" "$@"
}

# --- Jaeger: only traces need it, so that everything else goes on without it ---------------------------------------

provide_jaeger() {
    have_go || install_go || return 0
    (fetch "Jaeger $JAEGER_VERSION, compiled once by Go (3 to 8 minutes, 3 GB meanwhile, 85 MB in the end)" \
        "$JAEGER_FOLDER" build_jaeger) || without_jaeger "see above"
}

without_jaeger() { say "no Jaeger, so no traces to look at, and their tests fail; all else works. Remedy: $*"; }

have_go() {
    local found
    command -v go >/dev/null || return
    found=$(go env GOVERSION) && version_reaches "${found#go}" "$GO_AT_LEAST"
}

install_go() {
    local candidate remedy="install Go $GO_AT_LEAST or newer, then run this again"
    candidate=$(apt-cache policy golang-go 2>/dev/null | sed -n 's/^ *Candidate: \([0-9]*:\)\?\([0-9.]*\).*/\2/p')
    if [[ -z $candidate ]] || ! version_reaches "$candidate" "$GO_AT_LEAST"; then
        without_jaeger "$remedy (this system's package is ${candidate:-not there})"
        return 1
    fi
    if [[ -n ${NO_INSTALL:-} ]] || { ((EUID != 0)) && ! sudo -n true 2>/dev/null; }; then
        without_jaeger "apt-get install golang-go, then run this again"
        return 1
    fi
    say "installing golang-go"
    apt install golang-go
}

# Modules and compiled packages stay in the unfinished folder and go with it: nothing else needs them.
build_jaeger() {
    local work=$UNFINISHED/go package=github.com/jaegertracing/jaeger/cmd/jaeger
    mkdir "$work" && cd "$work" &&
        export GOPATH="$work/path" GOCACHE="$work/cache" GOFLAGS="${GOFLAGS:-} -modcacherw" &&
        go mod init local &&
        go get -tool "$package@v$JAEGER_VERSION" &&
        go build -ldflags "-s -w" -o "$1/jaeger" "$package"
}

main
