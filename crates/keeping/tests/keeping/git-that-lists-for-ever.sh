#!/bin/sh
# Real git whose listing of the index stalls after its first bytes.
here=${0%/*}
export HOME="$here/home" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
case "$*" in
*"ls-files -z --stage"*)
    printf '160000 '
    exec sleep 600
    ;;
esac
exec git "$@"
