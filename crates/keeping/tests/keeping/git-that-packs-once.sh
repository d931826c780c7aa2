#!/bin/sh
# Real git that packs objects once, and fails from then on.
here=${0%/*}
export HOME="$here/home" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
case "$*" in
*pack-objects*)
    mkdir "$here/packed" 2>/dev/null || exit 1
    ;;
esac
exec git "$@"
