# shellcheck shell=bash
# Images: pulled, or made here from Debian's packages and the jars that `make setup` has fetched. Sourced by test.sh.

readonly STAND_IN_LABEL=tidings.stand-in
# What the stand-ins of the servers need beside Debian's base.
readonly SERVER_PACKAGES=ca-certificates,openjdk-17-jre-headless,postgresql,wget
# What the programs load at run time, as in deploy/Dockerfile.
readonly RUNTIME_PACKAGES=ca-certificates,libssl3,zlib1g
readonly SERVERS_BASE=tidings/stand-in-base:local

PULLING_WORKS=unknown

provide_images() {
    provide "$POSTGRES_IMAGE" postgres
    provide "$KAFKA_IMAGE" kafka "kafka-$KAFKA_VERSION"
    provide "$REGISTRY_IMAGE" registry "apicurio-registry-$REGISTRY_VERSION"
    provide "$JAEGER_IMAGE" jaeger "jaeger-$JAEGER_VERSION"
}

# provide IMAGE STAND_IN [CACHED_FOLDER]
provide() {
    have_image "$1" || pull "$1" || make_stand_in "$@"
}

have_image() { docker image inspect "$1" >/dev/null 2>&1; }

# After one failure no other pull is tried: an unreachable registry may take long to say so.
pull() {
    [[ $PULLING_WORKS != no ]] || return 1
    say "pulling $1"
    if timeout 600 docker pull --quiet "$1" >"$WORK/pull" 2>&1; then
        PULLING_WORKS=yes
    else
        say "images cannot be pulled ($(tail -n 1 "$WORK/pull")); making stand-ins"
        PULLING_WORKS=no
        return 1
    fi
}

make_stand_in() {
    local image=$1 name=$2 files=${3:-}
    have_image "$SERVERS_BASE" || import_debian "$SERVERS_BASE" "$SERVER_PACKAGES"
    say "making a stand-in for $image"
    local folders=(-C "$PWD/deploy/containers/stand-ins/$name" .)
    if [[ -n $files ]]; then
        [[ -d $CACHE/$files ]] || fail "$CACHE/$files is missing; see what \`make setup\` says of it"
        folders+=(-C "$CACHE" "$files")
    fi
    tar -c "${folders[@]}" | build - --build-arg "BASE=$SERVERS_BASE" --build-arg "FILES=$files" \
        --label "$STAND_IN_LABEL=$name" --tag "$image"
}

# import_debian IMAGE PACKAGES: this system's release of Debian, the least of it and the packages, as an image
import_debian() {
    local root=$WORK/root mirror release
    mirror=$(apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' | head -n 1)
    # shellcheck source=/dev/null
    release=$(source /etc/os-release && echo "$VERSION_CODENAME")
    say "installing $release with $2 into an image (kept for the next time)"
    mkdir -p "$CACHE/packages" "$root"
    # In memory: on a disk dpkg waits for each file.
    as_root mount -t tmpfs -o size=2g tmpfs "$root"
    quietly as_root debootstrap --variant=minbase --cache-dir="$CACHE/packages" --include="$2" "$release" "$root" "$mirror"
    # The cluster that Debian's package makes, and what only people read.
    as_root rm -rf "$root"/var/{cache/apt,lib/apt/lists,lib/postgresql}/* "$root"/etc/postgresql/* \
        "$root"/usr/share/{doc,man,locale}/*
    as_root tar -c -C "$root" . |
        docker import --change "LABEL $STAND_IN_LABEL=base" --change 'ENV LANG=C.UTF-8' - "$1" >/dev/null
    release_root
}

release_root() {
    ! mountpoint --quiet "$WORK/root" || as_root umount --lazy "$WORK/root"
}

# build CONTEXT OPTION...: docker build, shown only if it fails
build() {
    local context=$1
    shift
    if ! docker build "$@" "$context" >"$WORK/build" 2>&1; then
        tail -n 40 "$WORK/build" >&2
        fail "docker build $* failed (the end of its output is above)"
    fi
}

# Tidings' own image: from source where the base images can be had, else the programs that were just built, packed.
build_image() {
    local build_base runtime_base
    build_base=$(base_image BUILD_IMAGE)
    runtime_base=$(base_image RUNTIME_IMAGE)
    if { have_image "$build_base" || pull "$build_base"; } && { have_real "$runtime_base" || pull "$runtime_base"; }; then
        say "building Tidings' image from source"
        build . --file deploy/Dockerfile --tag "$TIDINGS_IMAGE"
    else
        have_image "$runtime_base" || import_debian "$runtime_base" "$RUNTIME_PACKAGES"
        say "packing the programs into Tidings' image"
        pack "$runtime_base"
    fi
    say "$TIDINGS_IMAGE: $(($(docker image inspect --format '{{.Size}}' "$TIDINGS_IMAGE") / 1000000)) MB," \
        "user $(docker image inspect --format '{{.Config.User}}' "$TIDINGS_IMAGE")"
}

# base_image ARGUMENT: its default in deploy/Dockerfile
base_image() { sed -n "s/^ARG $1=//p" deploy/Dockerfile; }

have_real() {
    have_image "$1" && [[ -z $(docker image inspect --format "{{index .Config.Labels \"$STAND_IN_LABEL\"}}" "$1") ]]
}

pack() {
    local programs=${CARGO_TARGET_DIR:-target}/debug folder=$WORK/programs program
    mkdir "$folder"
    for program in tidings tidings-judge; do
        strip -o "$folder/$program" "$programs/$program"
    done
    cp deploy/containers/tidings-answers "$folder"
    build "$folder" --file deploy/Dockerfile --target packed --tag "$TIDINGS_IMAGE" \
        --build-arg "RUNTIME_IMAGE=$1" --build-arg RUNTIME_PACKAGES=
}

# From somebody else's daemon: there they would stand in the real ones' way. Our own keeps them for the next time.
remove_stand_ins() {
    [[ -z $OWN_DAEMON ]] && docker_answers || return 0
    docker image ls --quiet --filter "label=$STAND_IN_LABEL" | sort --unique |
        xargs --no-run-if-empty docker image rm --force >/dev/null
    docker image rm --force "$TIDINGS_IMAGE" >/dev/null 2>&1 || true
}
