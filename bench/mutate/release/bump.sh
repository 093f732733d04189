#!/bin/sh
# The next version: bump.sh major|minor|patch VERSION
set -eu

usage() {
  echo "usage: bump.sh major|minor|patch VERSION" >&2
  exit 2
}

[ $# -eq 2 ] || usage
part=$1
version=${2#v}

case $version in
  *[!0-9.]* | *..* | .* | *.) usage ;;
esac

major=${version%%.*}
rest=${version#*.}
minor=${rest%%.*}
patch=${rest#*.}

case $part in
  major)
    major=$((major + 1))
    minor=0
    patch=0
    ;;
  minor)
    minor=$((minor + 1))
    patch=0
    ;;
  patch) patch=$((patch + 1)) ;;
  *) usage ;;
esac

echo "v$major.$minor.$patch"
