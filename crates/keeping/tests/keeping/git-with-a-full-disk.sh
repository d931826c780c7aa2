#!/bin/sh
# Real git that may write nothing in the one command that a file beside it names: what a full disk does to it.
here=${0%/*}
export HOME="$here/home" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
full=$(cat "$here/full" 2>/dev/null || echo none)
case " $* " in
*" $full "*)
    trap '' XFSZ
    ulimit -f 0
    ;;
esac
exec git "$@"
