#!/bin/sh
# Real git that waits at the command which the file `wait-at` names: it tells its process id in `waiting`, and goes on
# when somebody writes to the pipe `go`.
here=${0%/*}
export HOME="$here/home" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
read -r command <"$here/wait-at"
case "$*" in
*"$command"*)
    echo $$ >"$here/waiting.new"
    mv "$here/waiting.new" "$here/waiting"
    read -r _ <"$here/go"
    ;;
esac
exec git "$@"
