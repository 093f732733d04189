import { expect, test } from 'vitest';
import { changesOf } from './changes.ts';

/** By language: code, and its faults in the order in which they are tried. */
const LINES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'a.py': {
    'if total >= 100:': [
      'boundary: if total >= 100: → if total > 100:',
      'fixed-condition: if total >= 100: → if False:',
      'fixed-condition: if total >= 100: → if True:',
      'literal: if total >= 100: → if total >= 101:',
    ],
    'if not ready and count > n:': [
      'boundary: if not ready and count > n: → if not ready and count >= n:',
      'logical: if not ready and count > n: → if not ready or count > n:',
      'fixed-condition: if not ready and count > n: → if True and count > n:',
      'fixed-condition: if not ready and count > n: → if not ready and True:',
      'negation: if not ready and count > n: → if ready and count > n:',
    ],
    'while n < m:': [
      'boundary: while n < m: → while n <= m:',
      'fixed-condition: while n < m: → while False:',
    ],
    '    return total * k': [
      'return: return total * k → return None',
      'arithmetic: return total * k → return total / k',
    ],
    '    return False  # a > b': ['return: return False → return True'],
    '    return': ['return: return removed'],
    '    return (': [],
    '    await self.items.append(x)': ['removed-call: await self.items.append(x) removed'],
    'ok = a is not None': ['equality: ok = a is not None → ok = a is None'],
    'x //= 2': ['literal: x //= 2 → x //= 3'],
    'foo(\n    bar(),\n)': [],
    's = "a > b" + b': [],
    '"""a > b\nc > d\n"""': [],
    'logger.info("%d", a + 1)': [],
    'raise ValueError(a + 1)': [],
    'from a import b': [],
    '@cached(1)': [],
    'print(a > b)': [],
    'cache.clear()': [],
    'time.sleep(1)': [],
    'if x > best:\n    best = x': [
      'fixed-condition: if x > best: → if False:',
      'fixed-condition: if x > best: → if True:',
    ],
    'best = a if a > b else b': [],
    'if __name__ == "__main__":': [],
  },
  'a.go': {
    '\tif err := f("x"); err != nil {': [
      'fixed-condition: if err := f("x"); err != nil { → if err := f("x"); (false && err != nil) {',
      'fixed-condition: if err := f("x"); err != nil { → if err := f("x"); (true || err != nil) {',
      'equality: if err := f("x"); err != nil { → if err := f("x"); err == nil {',
    ],
    '\tif a == "b" && !c {': [
      'logical: if a == "b" && !c { → if a == "b" || !c {',
      'fixed-condition: if a == "b" && !c { → if (true || a == "b") && !c {',
      'fixed-condition: if a == "b" && !c { → if a == "b" && (true || !c) {',
      'equality: if a == "b" && !c { → if a != "b" && !c {',
      'negation: if a == "b" && !c { → if a == "b" && c {',
    ],
    '\treturn nil, err': ['return: return nil, err → return nil, nil'],
    '\ts.mu.Lock()': ['removed-call: s.mu.Lock() removed'],
    '\tch <- x': [],
    '\tfor i := 0; i < len(xs); i++ {': [
      'literal: for i := 0; i < len(xs); i++ { → for i := 1; i < len(xs); i++ {',
    ],
    '\treturn fmt.Errorf("x: %w", err)': [],
    '\tlog.Printf("x %d", a + 1)': [],
    'func (s *T) f(a int) int {': [],
    '\tx := `a > b\nc > d`': [],
  },
  'a.rs': {
    '    if !a && b == c {': [
      'logical: if !a && b == c { → if !a || b == c {',
      'fixed-condition: if !a && b == c { → if true && b == c {',
      'fixed-condition: if !a && b == c { → if !a && true {',
      'equality: if !a && b == c { → if !a && b != c {',
      'negation: if !a && b == c { → if a && b == c {',
    ],
    '    store.send(order)?;': ['removed-call: store.send(order)?; removed'],
    '    store.send(order)': [],
    '    let f = move || a > b;': ['boundary: let f = move || a > b; → let f = move || a >= b;'],
    '    if let Some(x) = y {': [],
    "fn f<'a, T: A + B>(x: &'a T) -> i32 {": [],
    '    let c = \'<\'; let s = r#"a > "b"#;': [],
    '    println!("{}", a + 1);': [],
    '    Err(a + 1)': [],
    '#[cfg(test)]\nmod tests {\n    fn a() -> bool { b > 1 }\n}': [],
  },
  'A.java': {
    '        } else if (!ready || count < n) {': [
      'boundary: } else if (!ready || count < n) { → } else if (!ready || count <= n) {',
      'logical: } else if (!ready || count < n) { → } else if (!ready && count < n) {',
      'fixed-condition: } else if (!ready || count < n) { → } else if (false && (!ready) || count < n) {',
      'fixed-condition: } else if (!ready || count < n) { → } else if (!ready || false && (count < n)) {',
      'negation: } else if (!ready || count < n) { → } else if (ready || count < n) {',
    ],
    '        this.items.add(x);': ['removed-call: this.items.add(x); removed'],
    '        return false;': ['return: return false; → return true;'],
    '        Map<String, Integer> m = new HashMap<>();': [],
    '        String s = "a" + b + c;': [],
    '        throw new IllegalStateException("a" + 1);': [],
    '        super(a);': [],
    '        LOG.info("a {}", b + 1);': [],
    '    @Size(min = 1)': [],
  },
  'a.sh': {
    'if [ "$a" -lt 5 ]; then': [
      'boundary: if [ "$a" -lt 5 ]; then → if [ "$a" -le 5 ]; then',
      'fixed-condition: if [ "$a" -lt 5 ]; then → if false; then',
      'fixed-condition: if [ "$a" -lt 5 ]; then → if true; then',
      'literal: if [ "$a" -lt 5 ]; then → if [ "$a" -lt 6 ]; then',
    ],
    '[ -z "$x" ] && exit 1': [
      'logical: [ -z "$x" ] && exit 1 → [ -z "$x" ] || exit 1',
      'return: [ -z "$x" ] && exit 1 → [ -z "$x" ] && exit 0',
      'negation: [ -z "$x" ] && exit 1 → [ -n "$x" ] && exit 1',
    ],
    'rm -rf "$dir"': ['removed-call: rm -rf "$dir" removed'],
    'x=$((a + b))': ['arithmetic: x=$((a + b)) → x=$((a - b))'],
    '[ "$a" = "$b" ] || go': [
      'logical: [ "$a" = "$b" ] || go → [ "$a" = "$b" ] && go',
      'equality: [ "$a" = "$b" ] || go → [ "$a" != "$b" ] || go',
    ],
    'if ! grep -q x "$f"; then': ['negation: if ! grep -q x "$f"; then → if grep -q x "$f"; then'],
    'n=0': ['literal: n=0 → n=1'],
    'n=${2:-7}': [],
    'cat <<EOF\na -lt 3\nEOF': [],
    'echo "bad" >&2': [],
    'set -e': [],
    'foo() {': [],
    'sleep 5': [],
    'make \\\n  all': [],
  },
};

const rows = Object.entries(LINES).flatMap(([file, table]) =>
  Object.entries(table).map(([source, changes]) => [file, source, changes] as const),
);

test.each(rows)('%s: %j', (file, source, changes) => {
  expect(changesOf(file, source)).toEqual(changes);
});

test('lines that end with CRLF are lines', () => {
  expect(changesOf('a.py', 'if a > b:\r\n    return x\r\n')).toEqual(
    changesOf('a.py', 'if a > b:\n    return x\n'),
  );
});
