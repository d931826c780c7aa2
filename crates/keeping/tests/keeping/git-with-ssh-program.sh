#!/bin/sh
# Real git of a person who has named a program for SSH in the environment.
here=${0%/*}
export HOME="$here/home" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_SSH="$here/ssh"
exec git "$@"
