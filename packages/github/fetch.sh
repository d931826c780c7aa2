# Fetches what the check compares with: the whole history, the branch that the work goes to, and the attestations.
set -eu

if ! command -v checkstone >/dev/null; then
  echo "::error title=checkstone::checkstone is not installed. Add a step before this one, such as: npm install --global checkstone"
  exit 1
fi

if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
  # Only the pull request's own ref leads to the commits of a fork.
  git fetch --quiet --no-tags --unshallow origin "+refs/heads/*:refs/remotes/origin/*" "$GITHUB_REF"
fi

if [ -n "${GITHUB_BASE_REF:-}" ]; then
  git fetch --quiet --no-tags origin "+refs/heads/$GITHUB_BASE_REF:refs/remotes/origin/$GITHUB_BASE_REF"
fi

# Exit code 2: there is no such ref, so there are no attestations. Any other code is a failure.
notes=refs/notes/checkstone
code=0
git ls-remote --exit-code origin "$notes" >/dev/null || code=$?
case $code in
  0) git fetch --quiet --no-tags origin "+$notes:$notes" ;;
  2) ;;
  *) exit "$code" ;;
esac
