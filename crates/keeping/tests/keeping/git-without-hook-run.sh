#!/bin/sh
# Real git that does not know `git hook`.
here=${0%/*}
export HOME="$here/home" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
case "$*" in
*" hook run "*)
    echo "git: 'hook' is not a git command. See 'git --help'." >&2
    exit 1
    ;;
esac
exec git "$@"
