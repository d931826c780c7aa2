# Runs the check. Its exit code is the step's: 0 all is proven, 1 something is not.
set -eu

set -- ci
if [ -n "$BASE" ]; then
  set -- "$@" --base "$BASE"
elif [ -z "${GITHUB_BASE_REF:-}" ] && git cat-file -e "${BEFORE:-none}^{commit}" 2>/dev/null; then
  # A push: what the branch was before. A new branch was nothing, and a commit that was force-pushed away is not here.
  set -- "$@" --base "$BEFORE"
fi
if [ "$ATTESTATIONS" = false ]; then set -- "$@" --ignore-attestations; fi
if [ -n "$SARIF" ]; then set -- "$@" --sarif "$SARIF"; fi
if [ -n "$JUNIT" ]; then set -- "$@" --junit "$JUNIT"; fi
exec checkstone "$@"
