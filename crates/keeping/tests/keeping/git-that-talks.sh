#!/bin/sh
# Real git with a library to be loaded first that is not there.
here=${0%/*}
export HOME="$here/home" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LD_PRELOAD=/nowhere/library.so
exec git "$@"
