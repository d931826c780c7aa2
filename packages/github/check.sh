# Runs the check. The step has its exit code: 0 if everything is proven, 1 if something is not.
set -eu

set -- ci
if [ -n "$BASE" ]; then
  set -- "$@" --base "$BASE"
elif [ -z "${GITHUB_BASE_REF:-}" ] && git cat-file -e "${BEFORE:-none}^{commit}" 2>/dev/null; then
  # For a push, compare with what the branch was before. A new branch has no such commit, and one that was force-pushed away is not in this clone.
  set -- "$@" --base "$BEFORE"
fi
if [ "$ATTESTATIONS" = false ]; then set -- "$@" --ignore-attestations; fi
if [ -n "$SARIF" ]; then set -- "$@" --sarif "$SARIF"; fi
if [ -n "$JUNIT" ]; then set -- "$@" --junit "$JUNIT"; fi
exec checkstone "$@"
