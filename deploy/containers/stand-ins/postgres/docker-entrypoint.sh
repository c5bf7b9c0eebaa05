#!/bin/bash
# What our settings need of the entrypoint of the image `postgres`: POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB,
# POSTGRES_HOST_AUTH_METHOD, POSTGRES_INITDB_ARGS, PGDATA, and /docker-entrypoint-initdb.d/*.sql.
set -euo pipefail

main() {
    if ((EUID == 0)); then
        mkdir -p "$PGDATA"
        chown postgres: "$PGDATA"
        exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
    fi
    [[ -s $PGDATA/PG_VERSION ]] || make_cluster
    exec "$@" -c listen_addresses='*' -c unix_socket_directories=/tmp
}

make_cluster() {
    local user=${POSTGRES_USER:-postgres} hosts=${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256} arguments
    local database=${POSTGRES_DB:-$user}
    if [[ -z ${POSTGRES_PASSWORD:-} && $hosts != trust ]]; then
        echo "POSTGRES_PASSWORD is not set, and POSTGRES_HOST_AUTH_METHOD is not trust" >&2
        exit 1
    fi
    read -ra arguments <<<"${POSTGRES_INITDB_ARGS:-}"
    chmod 700 "$PGDATA"
    initdb --username "$user" --auth trust --pwfile <(printf '%s\n' "${POSTGRES_PASSWORD:-none}") "${arguments[@]}"
    printf 'host all all all %s\n' "$hosts" >>"$PGDATA/pg_hba.conf"
    # Loopback is trusted by the image too; what is published arrives from another address.
    pg_ctl --wait --options "-c listen_addresses='' -c unix_socket_directories=/tmp" start
    [[ $database == postgres ]] || createdb --host /tmp --username "$user" "$database"
    run_scripts "$user" "$database"
    pg_ctl --wait --mode fast stop
}

run_scripts() {
    local script
    for script in /docker-entrypoint-initdb.d/*.sql; do
        [[ -f $script ]] || continue
        psql --host /tmp --username "$1" --dbname "$2" --set ON_ERROR_STOP=1 --no-psqlrc --file "$script"
    done
}

main "$@"
