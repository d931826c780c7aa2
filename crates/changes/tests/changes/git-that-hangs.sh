#!/bin/sh
# Never ends, and neither does its child, which holds the pipes open.
here=${0%/*}
sleep 600 &
echo $! >"$here/child"
wait
