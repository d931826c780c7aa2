#!/bin/sh
echo "warning: something harmless" >&2
echo "fatal: index file corrupt" >&2
echo "and more" >&2
exit 128
