#!/bin/sh
# Real git whose import meets a fault: the file `fault` says which call of which kind fails, and how. What failed is
# written down.
here=${0%/*}
export HOME="$here/home" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
case "$*" in
*fast-import*)
    read -r call error number <"$here/fault"
    exec strace -f -qq -o "$here/met" -e trace="$call" -e inject="$call:error=$error:when=$number" git "$@"
    ;;
esac
exec git "$@"
