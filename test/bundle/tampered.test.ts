// biome-ignore-all lint/suspicious/noExplicitAny: a forger does not care for types
/** Bundles that somebody has changed: each field, each part of the signature, each line of the ledger. All are refused. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { derive } from '../../src/proof/bundle/derive.ts';
import { readBundle, signedBytes } from '../../src/proof/bundle/envelope.ts';
import type { Statement } from '../../src/proof/bundle/format.ts';
import { bundleLedger } from '../../src/proof/bundle/ledger.ts';
import { verifyBundle } from '../../src/proof/bundle/verify.ts';
import { hashOf } from '../../src/store/ledger-end.ts';
import { allow, forge, type Parts, partsOf, proven } from './rig.ts';

type Path = readonly (string | number)[];

/** Every value in the statement but the lines of the ledger, by its path. */
function leaves(value: unknown, path: Path = []): readonly Path[] {
  if (path.join('.') === 'predicate.ledger.entries') return [];
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, each]) =>
    leaves(each, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return Array.isArray(value) ? [...inner, path] : inner;
}

/** The statement with another value there: one that is allowed at such a place, where there is one. */
function altered(statement: Statement, path: Path): Statement {
  const copy = structuredClone(statement);
  const holder = path.slice(0, -1).reduce<any>((at, key) => at[key], copy);
  const key = path.at(-1)!;
  const before = holder[key];
  if (Array.isArray(before)) holder[key] = before.length > 0 ? before.slice(1) : ['x'];
  else if (typeof before === 'boolean') holder[key] = !before;
  else if (typeof before === 'number') holder[key] = before + 1;
  else if (before === null) holder[key] = 'x';
  else if (/^[0-9a-f]{16,}$/.test(before)) holder[key] = (before[0] === '0' ? '1' : '0') + before.slice(1);
  else if (/^\d{4}-/.test(before)) holder[key] = `2020${before.slice(4)}`;
  else holder[key] = OTHER[before] ?? `${before}x`;
  return copy;
}

const OTHER: Readonly<Record<string, string>> = {
  place: 'clean',
  pid: 'sandbox',
  none: 'sandbox',
  loop: 'prd',
  file: 'link',
  intact: 'none',
  commit: 'tree',
  tree: 'commit',
};

/** What only a signature protects: the ledger does not say it. */
const NOT_IN_LEDGER = /^predicate\.(protected|settings|versions|ledger\.trust)/;

test('more than a hundred tampered bundles are refused, the honest ones are not', async () => {
  const run = await proven();
  const key = run.key('key');
  allow(run.signers, 'dev@example.invalid', key);
  const honest = await run.report('--sign-key', key);
  const file = join(run.place, 'tampered');
  const accepts = async (text: string, isSigned: boolean) => {
    writeFileSync(file, text);
    const bundle = readBundle(file);
    if (isProblem(bundle)) return false;
    const signers = isSigned ? { allowed: run.signers, who: undefined } : undefined;
    const place = { cwd: run.work.dir, env: { ...process.env, HOME: run.place } };
    const { claims } = await verifyBundle(bundle, { place, signers });
    return claims.every(({ state }) => state === 'holds');
  };
  const { statement, signature } = partsOf(honest);
  expect(await accepts(readFileSync(honest, 'utf8'), true)).toBe(true);
  expect(await accepts(forge(statement, signature), true)).toBe(true);
  expect(await accepts(forge(statement, undefined), false)).toBe(true);

  const wrong: string[] = [];
  let tried = 0;
  const refused = async (name: string, text: string, isSigned: boolean) => {
    tried++;
    if (await accepts(text, isSigned)) wrong.push(name);
  };
  for (const path of leaves(statement)) {
    const name = path.join('.');
    const text = forge(altered(statement, path), signature);
    await refused(`signed ${name}`, text, true);
    const unsigned = forge(altered(statement, path), undefined);
    if (!NOT_IN_LEDGER.test(name)) await refused(`unsigned ${name}`, unsigned, false);
    const honestDigest = JSON.parse(readFileSync(honest, 'utf8')).digest;
    const careless = JSON.stringify({ ...JSON.parse(unsigned), digest: honestDigest });
    await refused(`careless ${name}`, careless, false);
  }
  for (const [name, changed] of ledgersOf(statement))
    await refused(`ledger ${name}`, forge(changed, undefined), false);
  const whole = forge(statement, signature);
  for (const field of ['payload', 'payloadType', 'digest', 'signatures', 'keyid', 'sig', 'sha256'])
    await refused(`${field} twice`, whole.replace(`"${field}"`, `"${field}":"e30=","${field}"`), true);
  await refused('a field written otherwise', whole.replace('"payload"', '"payl\\u006fad"'), true);
  expect(await accepts(JSON.stringify(JSON.parse(whole), null, 2), true)).toBe(true);
  for (const [name, changed] of signaturesOf({ statement, signature }, run.key('other')))
    await refused(`signature ${name}`, changed, true);
  for (const [name, changed] of swaps(statement, run.work.git('rev-parse', 'HEAD~1').trim()))
    await refused(`swap ${name}`, forge(changed, undefined), false);
  expect(wrong).toEqual([]);
  expect(tried).toBeGreaterThan(200);
});

function withEntries(statement: Statement, entries: readonly unknown[]): Statement {
  const copy = structuredClone(statement) as any;
  copy.predicate.ledger.entries = entries;
  return copy;
}

/** Each line: changed, taken out, put in twice, exchanged with the next. */
function* ledgersOf(statement: Statement): Iterable<readonly [string, Statement]> {
  const { entries } = statement.predicate.ledger;
  for (const [at, entry] of entries.entries()) {
    const changed =
      typeof entry === 'string'
        ? entry.replace(/\d(?=[^\d]*$)/, digit => String((Number(digit) + 1) % 10))
        : { ...entry, left: entry.left + 1 };
    yield [`${at} changed`, withEntries(statement, entries.with(at, changed))];
    yield [`${at} gone`, withEntries(statement, entries.toSpliced(at, 1))];
    yield [`${at} twice`, withEntries(statement, entries.toSpliced(at, 0, entry))];
    const next = entries[at + 1];
    if (next !== undefined)
      yield [`${at} exchanged`, withEntries(statement, entries.with(at, next).with(at + 1, entry))];
    if (typeof entry !== 'string')
      yield [
        `${at} another end`,
        withEntries(statement, entries.with(at, { ...entry, last: 'a'.repeat(32) })),
      ];
  }
}

function* signaturesOf(
  { statement, signature }: Parts,
  otherKey: string,
): Iterable<readonly [string, string]> {
  const { keyid, sig } = signature!;
  const blob = Buffer.from(sig, 'base64');
  for (let at = 0; at < blob.length; at += 7) {
    const changed = Buffer.from(blob);
    changed[at] = (changed[at] ?? 0) ^ 1;
    yield [`byte ${at}`, forge(statement, { keyid, sig: changed.toString('base64') })];
  }
  yield ['cut', forge(statement, { keyid, sig: blob.subarray(0, -4).toString('base64') })];
  yield ['longer', forge(statement, { keyid, sig: Buffer.concat([blob, blob]).toString('base64') })];
  yield ['none', forge(statement, undefined)];
  yield [
    'another key named',
    forge(statement, { keyid: `${keyid.slice(0, -1)}${keyid.endsWith('A') ? 'E' : 'A'}`, sig }),
  ];
  const two = JSON.parse(forge(statement, signature));
  two.signatures.push(two.signatures[0]);
  yield ['two of them', JSON.stringify(two)];
  const bytes = signedBytes(Buffer.from(JSON.stringify(statement)));
  const by = (key: string, namespace: string, input: Buffer) => {
    const armor = execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-f', key, '-n', namespace], {
      input,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    return armor
      .toString()
      .split('\n')
      .filter(line => !line.startsWith('-----'))
      .join('');
  };
  const key = otherKey.replace(/other$/, 'key');
  yield ['by a stranger', forge(statement, { keyid, sig: by(otherKey, 'ralph-proof@v1', bytes) })];
  yield ['for another purpose', forge(statement, { keyid, sig: by(key, 'git', bytes) })];
  yield ['of other bytes', forge(statement, { keyid, sig: by(key, 'ralph-proof@v1', Buffer.from('x')) })];
}

/** Lies that fit together as far as a forger can make them without writing the ledger anew. */
function* swaps(statement: Statement, commit: string): Iterable<readonly [string, Statement]> {
  const change = (by: (copy: any) => void) => {
    const copy = structuredClone(statement);
    by(copy);
    return copy;
  };
  yield [
    'commit',
    change(copy => {
      copy.predicate.proof.commit = commit;
      copy.subject[0].digest.gitCommit = commit;
    }),
  ];
  yield [
    'check renamed',
    change(copy => {
      copy.predicate.checks[0].command = 'npm test';
      copy.predicate.settings.checks[0] = 'npm test';
    }),
  ];
  yield [
    'check left out',
    change(copy => {
      copy.predicate.checks.pop();
      copy.predicate.settings.checks.pop();
    }),
  ];
  yield [
    'violation left out',
    change(copy => {
      copy.predicate.violations = [];
      const { entries } = copy.predicate.ledger;
      const at = entries.findIndex((entry: unknown) => String(entry).includes('"type":"violation"'));
      entries[at] = { left: 1, after: JSON.parse(entries[at]).prev, last: hashOf(entries[at]) };
    }),
  ];
}

test('the ledger of a bundle is the one of the run', async () => {
  const run = await proven();
  const { statement } = partsOf(await run.report());
  const [id] = run.work.git('log', '-1', '--format=%s').split('\n');
  expect(id).not.toBe('');
  const { predicate } = statement;
  const events = join(run.work.dir, '.ralph/runs', predicate.run.id, 'events.jsonl');
  expect(bundleLedger({ events, trust: { kind: 'elsewhere' } })?.ledger).toEqual({
    root: predicate.ledger.root,
    lines: predicate.ledger.lines,
    entries: predicate.ledger.entries,
  });
  expect(predicate).toMatchObject({
    run: { iterations: 2, success: true },
    violations: [{ what: 'test/t.sh was changed', restored: true, by: null, iteration: 1 }],
    checks: [
      { command: 'sh test/t.sh', exitCode: 0 },
      { command: 'sh check.sh', exitCode: 0 },
    ],
    protected: [{ path: 'test/t.sh' }],
  });
});

const ODD = [null, [], {}, 'x', -1, 1e308, true, [null], { survivors: 1 }, [[]]] as const;

test('whatever stands in the lines of a ledger, nothing breaks, and nothing holds that the lines do not say', async () => {
  const run = await proven();
  const { statement } = partsOf(await run.report());
  const place = { cwd: run.place, env: { ...process.env, HOME: run.place } };
  const file = join(run.place, 'odd');
  const { entries } = statement.predicate.ledger;
  for (const [at, entry] of entries.entries()) {
    if (typeof entry !== 'string') continue;
    const parsed = JSON.parse(entry);
    for (const path of leaves(parsed).slice(3)) {
      const odd = structuredClone(parsed);
      const holder = path.slice(0, -1).reduce<any>((inner, key) => inner[key], odd);
      holder[path.at(-1)!] = ODD[(at + path.length) % ODD.length];
      writeFileSync(file, forge(withEntries(statement, entries.with(at, JSON.stringify(odd))), undefined));
      const bundle = readBundle(file);
      if (isProblem(bundle)) continue;
      expect(typeof derive(bundle.statement.predicate.ledger.entries)).toMatch(/string|object/);
    }
  }
  // The one that goes all the way: a result whose parts are of another kind.
  const last = JSON.parse(String(entries.at(-1)));
  for (const odd of ODD) {
    const line = JSON.stringify({ ...last, result: { ...last.result, mutation: odd, proof: odd } });
    writeFileSync(file, forge(withEntries(statement, entries.with(-1, line)), undefined));
    const bundle = readBundle(file);
    if (isProblem(bundle)) throw new Error(bundle.what);
    const { claims } = await verifyBundle(bundle, { place, signers: undefined });
    expect(claims.some(({ state }) => state === 'does not hold')).toBe(true);
  }
});
