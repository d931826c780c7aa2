#!/bin/sh
# Installs checkstone {{version}} into ~/.local/bin, or into the folder that CHECKSTONE_INSTALL_DIR names:
#   curl -fsSL {{downloads}}/install.sh | sh
# CHECKSTONE_DOWNLOADS names another place for the archives. Everything is in functions, called on the last line, so that an
# interrupted download runs nothing.
set -eu

fail() {
  echo "error: $1" >&2
  exit 1
}

sum_of() {
  if command -v sha256sum >/dev/null; then
    sum=$(sha256sum "$1")
  elif command -v shasum >/dev/null; then
    sum=$(shasum -a 256 "$1")
  else
    fail "neither sha256sum nor shasum is installed, so the download cannot be checked"
  fi
  echo "${sum%% *}"
}

expected_sum() {
  case "$1" in
{{sums}}
    *) fail "there is no archive for this machine ($1); build checkstone with cargo, on Windows use WSL" ;;
  esac
}

machine() {
  processor=$(uname -m)
  case "$processor" in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
  esac
  case "$(uname -s)" in
    Darwin) echo "$processor-apple-darwin" ;;
    Linux)
      # On Alpine and the like the C library is musl.
      for loader in /lib/ld-musl-*; do
        [ -e "$loader" ] && echo "$processor-unknown-linux-musl" && return
      done
      echo "$processor-unknown-linux-gnu"
      ;;
    *) echo "$processor-$(uname -s)" ;;
  esac
}

download() {
  if command -v curl >/dev/null; then
    curl -fsSL "$1" -o "$2"
  elif command -v wget >/dev/null; then
    wget -q "$1" -O "$2"
  else
    fail "neither curl nor wget is installed"
  fi
}

main() {
  target=$(machine)
  expected=$(expected_sum "$target") || exit 1
  folder=${CHECKSTONE_INSTALL_DIR:-$HOME/.local/bin}
  downloads=${CHECKSTONE_DOWNLOADS:-{{downloads}}}
  name=checkstone-{{version}}-$target
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  download "$downloads/$name.tar.gz" "$work/archive.tar.gz" || fail "$downloads/$name.tar.gz could not be downloaded"
  found=$(sum_of "$work/archive.tar.gz") || exit 1
  [ "$found" = "$expected" ] || fail "the download is damaged: its SHA-256 is $found instead of $expected; nothing was installed"
  tar -xzf "$work/archive.tar.gz" -C "$work"
  mkdir -p "$folder"
  # Replaced in one step, so that a hook that starts meanwhile finds the old program or the new one.
  cp "$work/$name/bin/checkstone" "$folder/.checkstone.new"
  chmod 755 "$folder/.checkstone.new"
  mv -f "$folder/.checkstone.new" "$folder/checkstone"
  echo "installed $folder/checkstone"
  case ":$PATH:" in
    *":$folder:"*) ;;
    *) echo "$folder is not on your PATH: add it, or call the program by its full path" ;;
  esac
  command -v git >/dev/null || echo "checkstone needs git 2.31 or newer, which is not installed"
  echo "next: checkstone demo"
}

main
