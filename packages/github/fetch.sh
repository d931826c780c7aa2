# Fetches what the check compares with: the whole history, the branch that the work goes to, and the attestations.
set -eu

if ! command -v checkstone >/dev/null; then
  echo "::error title=checkstone::checkstone is not installed. Add a step before this one, such as: npm install --global checkstone"
  exit 1
fi

if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
  # The commits of a fork hang on the pull request's own ref alone.
  git fetch --quiet --no-tags --unshallow origin "+refs/heads/*:refs/remotes/origin/*" "$GITHUB_REF"
fi

if [ -n "${GITHUB_BASE_REF:-}" ]; then
  git fetch --quiet --no-tags origin "+refs/heads/$GITHUB_BASE_REF:refs/remotes/origin/$GITHUB_BASE_REF"
fi

# Where nobody has attested anything there is no such ref, which is 2; anything else is a failure.
notes=refs/notes/checkstone
code=0
git ls-remote --exit-code origin "$notes" >/dev/null || code=$?
case $code in
  0) git fetch --quiet --no-tags origin "+$notes:$notes" ;;
  2) ;;
  *) exit "$code" ;;
esac
