#!/bin/bash
# What our settings need of the image `apache/kafka`: a setting of each KAFKA_ variable (KAFKA_NODE_ID is node.id, __ is _,
# ___ is -), CLUSTER_ID, KAFKA_HEAP_OPTS, and storage that is formatted once.
set -euo pipefail

readonly SETTINGS=/tmp/server.properties

main() {
    local heap
    write_settings >"$SETTINGS"
    read -ra heap <<<"${KAFKA_HEAP_OPTS:--Xmx1G}"
    java "${heap[@]}" -cp '/opt/kafka/libs/*' kafka.tools.StorageTool format --ignore-formatted \
        --cluster-id "${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}" --config "$SETTINGS"
    exec java "${heap[@]}" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '/opt/kafka/libs/*' kafka.Kafka "$SETTINGS"
}

write_settings() {
    local variable name
    while read -r variable; do
        case $variable in KAFKA_HEAP_OPTS | KAFKA_OPTS) continue ;; esac
        name=${variable#KAFKA_}
        name=${name//___/-}
        name=${name//__/%}
        name=${name//_/.}
        name=${name//%/_}
        printf '%s=%s\n' "${name,,}" "${!variable}"
    done < <(compgen -e KAFKA_)
}

main
