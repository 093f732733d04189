set -eu
test "$(sh bump.sh patch 1.2.3)" = v1.2.4
test "$(sh bump.sh minor v1.2.3)" = v1.3.0
test "$(sh bump.sh major 1.0.0)" = v2.0.0
if sh bump.sh tiny 1.2.3 2>/dev/null; then exit 1; fi
if sh bump.sh patch 1.x.3 2>/dev/null; then exit 1; fi
