#!/bin/sh
# Real git of a person who has git-lfs in the configuration.
here=${0%/*}
export HOME="$here/home" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL="$here/home/.gitconfig"
exec git "$@"
