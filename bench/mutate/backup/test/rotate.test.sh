set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for day in 01 02 03 04; do : > "$dir/$day.tar"; done
: > "$dir/notes.txt"

out=$(sh rotate.sh "$dir" 2)
test "$out" = "kept 2, removed 2"
test "$(ls "$dir" | tr '\n' ' ')" = "03.tar 04.tar notes.txt "

if sh rotate.sh /no/such/folder 2>/dev/null; then exit 1; fi
if sh rotate.sh "$dir" 0 2>/dev/null; then exit 1; fi
