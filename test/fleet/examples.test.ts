import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { PACKAGES } from '../../src/fleet/database.ts';
import { folder } from '../rig/repo.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');

test('page and example install the packages as they are pinned', () => {
  for (const name of ['docs/how-to/use-many-machines.md', 'examples/fleet/compose.yaml'])
    expect(read(name)).toContain(PACKAGES.join(' '));
});

test('the compose file publishes no port, and has no password in it', () => {
  const { services } = parse(read('examples/fleet/compose.yaml'));
  expect(Object.keys(services)).toEqual(['database', 'schema', 'worker']);
  for (const service of Object.values<Record<string, unknown>>(services))
    expect(service).not.toHaveProperty('ports');
  expect(services.database.environment).not.toHaveProperty('POSTGRES_PASSWORD');
  expect(services.schema).toMatchObject({ extends: 'worker', command: ['ralph', 'fleet', 'up'] });
});

const canVerify = spawnSync('systemd-analyze', ['--version']).status === 0;

test.skipIf(!canVerify)('the unit is one that systemd accepts (needs systemd-analyze)', () => {
  const unit = join(ROOT, 'examples/fleet/ralph-worker.service');
  const { status, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', unit], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: folder().dir, XDG_RUNTIME_DIR: folder().dir },
  });
  expect({ status, said: stderr.split('\n').filter(line => line.includes('ralph-worker')) }).toEqual({
    status: 0,
    said: [],
  });
});
