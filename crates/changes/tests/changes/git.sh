#!/bin/sh
# Real git with a home of its own, reached through a link in a test's folder; writes down every call there.
here=${0%/*}
export HOME="$here/home" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
echo "$*" >>"$here/calls"
exec git "$@"
