#!/bin/sh
# Real git of a person who allows no bare repository that is only found.
here=${0%/*}
export HOME="$here/home" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL="$here/home/bare"
printf '[safe]\n\tbareRepository = explicit\n' >"$GIT_CONFIG_GLOBAL"
exec git "$@"
