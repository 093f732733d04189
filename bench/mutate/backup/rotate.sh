#!/bin/sh
# Keeps the newest N backups of a folder: rotate.sh FOLDER N
set -eu

folder=${1:-}
keep=${2:-7}

if [ -z "$folder" ] || [ ! -d "$folder" ]; then
  echo "no such folder: $folder" >&2
  exit 2
fi
if [ "$keep" -lt 1 ]; then
  echo "at least one backup must stay" >&2
  exit 2
fi

count=0
removed=0
for file in $(ls -r "$folder" | grep '\.tar$'); do
  count=$((count + 1))
  if [ "$count" -gt "$keep" ]; then
    rm "$folder/$file"
    rm -f "$folder/$file.sha256"
    removed=$((removed + 1))
  fi
done

if [ "$count" -eq 0 ]; then
  echo "nothing to rotate"
  exit 1
fi
echo "kept $((count - removed)), removed $removed"
