/** What each release has written is read by this one. The fixtures of a release that is out are never changed. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { migrateSettings } from '../../src/config/migrate.ts';
import { knownEntry } from '../../src/domain/run/ledger-entry.ts';
import { VERSION } from '../../src/platform/version.ts';
import { readBundle } from '../../src/proof/bundle/envelope.ts';
import { projectPaths } from '../../src/store/paths.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { FORMATS, fixture, fleetSteps, makeRun, placeRun, RELEASES } from './formats.ts';

test('this version has its fixtures', () => {
  expect(RELEASES, 'npm run formats').toContain(VERSION);
});

describe.each(RELEASES)('what %s wrote:', release => {
  test('its settings are accepted, or `ralph migrate` makes them so', { tags: 'P-formats-read' }, () => {
    for (const [name, isJson] of [
      ['settings.json', true],
      ['loop.yaml', false],
    ] as const)
      expect(migrateSettings(fixture(release, name), name, isJson)).toMatchObject({
        diff: expect.anything(),
      });
  });

  test('every line of its ledger is known', { tags: 'P-formats-read' }, () => {
    const lines = linesOf(fixture(release, `run/${placeRun(release).id}/events.jsonl`));
    expect(lines.filter(line => knownEntry(line) === null)).toEqual([]);
    expect(lines.length).toBeGreaterThan(10);
  });

  test('its runs are shown by every reader, and called done', {
    tags: ['promise', 'P-formats-read'],
  }, async () => {
    const { id, dir: cwd, env } = placeRun(release);
    const read = (...args: string[]) => ralph([...args, '--no-color'], { cwd, env });
    for (const args of [['status'], ['log'], ['explain'], ['show', '--stat'], ['report'], ['replay']])
      expect([args, (await read(...args)).code]).toEqual([args, 0]);
    const report = await read('report', '--format', 'json');
    expect(JSON.parse(report.stdout)).toMatchObject({
      id,
      state: 'done',
      integrity: { trust: { kind: 'intact' } },
    });
    const log = await read('log', '--json');
    expect(linesOf(log.stdout)).toEqual(linesOf(fixture(release, `run/${id}/events.jsonl`)));
    const { code, stderr } = await read('resume');
    expect([code, stderr]).toEqual([2, expect.stringContaining('can be resumed')]);
  });

  test('its bundles are read and looked at claim by claim', { tags: 'P-formats-read' }, async () => {
    const path = join(FORMATS, release, 'run.proof');
    expect(readBundle(path)).toMatchObject({ isWhole: true });
    const { dir: cwd } = folder();
    const { code, stdout } = await ralph(['verify', path, '--json'], { cwd });
    expect([code, JSON.parse(stdout)]).toEqual([1, expect.anything()]); // its commit is not here
  });

  test('a loop in a session continues', { tags: 'P-formats-read' }, async () => {
    const [work, home] = [repo(), folder('ralph-home-')];
    const env = { HOME: home.dir, XDG_STATE_HOME: home.path('state') };
    const name = 'ralph-loop.local.md';
    const record = projectPaths(work.dir, env).state().session(name);
    mkdirSync(record, { recursive: true });
    work.write(`.claude/${name}`, fixture(release, 'session.md'));
    writeFileSync(join(record, '1'), fixture(release, 'session.md'));
    const { code, stdout } = await ralph(['session', 'status'], { cwd: work.dir, env });
    expect([code, stdout]).toEqual([0, expect.stringContaining('Write it')]);
  });

  test('the steps of its database are the first of ours', { tags: 'P-formats-read' }, () => {
    const known = JSON.parse(fixture(release, 'fleet.json'));
    expect(fleetSteps().slice(0, known.length)).toEqual(known);
  });
});

test('--json still has every field that a release had, of the same kind', {
  tags: ['promise', 'P-json-fields'],
}, async () => {
  const now = kindsIn(JSON.parse((await makeRun()).result));
  for (const release of RELEASES)
    for (const [path, kind] of kindsIn(JSON.parse(fixture(release, 'result.json'))))
      if (kind !== 'null') expect([release, path, now.get(path)]).toEqual([release, path, kind]);
});

function linesOf(text: string) {
  return text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));
}

/** Each field by its path, those of the entries of a list together. */
function kindsIn(value: unknown, path = ''): ReadonlyMap<string, string> {
  if (Array.isArray(value)) return new Map(value.flatMap(each => [...kindsIn(each, `${path}[]`)]));
  if (typeof value !== 'object' || value === null)
    return new Map([[path, value === null ? 'null' : typeof value]]);
  return new Map(Object.entries(value).flatMap(([key, inner]) => [...kindsIn(inner, `${path}.${key}`)]));
}
