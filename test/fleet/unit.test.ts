import { expect, test } from 'vitest';
import { allowsRepo } from '../../src/fleet/admission.ts';
import { flawOf, heldRef, isAddress, shownBranch, type Unit } from '../../src/fleet/unit.ts';

test('each holder of a unit writes to names of its own, which are no branches', () => {
  const of = (fence: number) =>
    ['carry', 'work', 'pins/US-001/a'].map(name => heldRef({ id: 'u', fence }, name));
  const names = [1, 2, 11].flatMap(of);
  expect(new Set(names).size).toBe(names.length);
  for (const fence of [1, 2, 11])
    for (const name of of(fence)) expect(name.startsWith(`refs/ralph/u/${fence}/`)).toBe(true);
  expect(['loop', 'prd'].map(kind => shownBranch({ id: 'u', kind: kind as 'loop', parent: null }))).toEqual([
    'ralph/u',
    'ralph/u/_int',
  ]);
  expect(shownBranch({ id: 'u.US-001.2', kind: 'story', parent: 'u' })).toBe('ralph/u/US-001');
});

test.each([
  'git@example.org:team/../other/x.git',
  'https://example.org/team/..%2fother/x',
  'https://example.org/team/%2e%2E/other/x',
  'https://example.org/team/%252e./other/x',
  'ssh://git@example.org/team/..',
  '--upload-pack=touch /tmp/x',
  '-oProxyCommand=x',
  'ext::sh -c x',
  'a\nb',
])('%j is no address, whatever a worker allows', repoUrl => {
  expect(isAddress(repoUrl)).toBe(false);
  expect(allowsRepo({ repos: ['*'] }, repoUrl)).toBe(false);
  const commit = 'a'.repeat(40);
  expect(flawOf({ id: 'u', base: commit, carry: null, headSha: null, repoUrl })).toContain('address');
});

test('what led to a story is a name and a commit, or the unit was not submitted', () => {
  const sound = { id: 'u.US-001', base: 'a'.repeat(40), carry: null, headSha: null, repoUrl: '/srv/x' };
  const led = (parent: string, tip: string) =>
    flawOf({ ...sound, parent, config: { flags: {}, story: { lane: 'US-001', tip } } as Unit['config'] });
  expect(led('u', sound.base)).toBeUndefined();
  expect(led('u', '--upload-pack=x')).toContain('a commit that is not one');
  expect(led('x/*:refs/heads/main', sound.base)).toContain('not a name');
  expect(led('u.US-001', sound.base)).toContain('its id is not one of u.US-001');
});

test.each<[config: unknown, flaw: string | undefined]>([
  [{ flags: {}, folder: 'a/..b', tasks: 'docs/tasks.md' }, undefined],
  [null, 'incomplete'],
  [[], 'incomplete'],
  [{ task: 'Do it' }, 'incomplete'],
  [{ flags: [] }, 'incomplete'],
  [{ flags: {}, task: 5 }, 'incomplete'],
  [{ flags: {}, issue: 'one' }, 'incomplete'],
  [{ flags: {}, story: { lane: 5, tip: 'a'.repeat(40) } }, 'incomplete'],
  [{ flags: {}, story: { lane: 'T1', tip: 'a'.repeat(40), sentBack: 'now' } }, 'incomplete'],
  [{ flags: {}, folder: '../../elsewhere' }, 'outside of its repository'],
  [{ flags: {}, folder: '/tmp' }, 'outside of its repository'],
  [{ flags: {}, tasks: 'a/../../b.md' }, 'outside of its repository'],
])('what a unit is given, %j, is what can be submitted', (config, flaw) => {
  const sound = { id: 'u', base: 'a'.repeat(40), carry: null, headSha: null, repoUrl: '/srv/x' };
  const found = flawOf({ ...sound, config: config as Unit['config'] });
  if (flaw === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(flaw);
});

test.each([
  'git@example.org:team/x.git',
  'https://example.org/team/x..y',
  'ssh://git@example.org:2222/~me/x.git',
  '/srv/git/..x',
  'file:///srv/git/x',
])('%j is one', repoUrl => {
  expect([isAddress(repoUrl), allowsRepo({ repos: ['*x*'] }, repoUrl)]).toEqual([true, true]);
});

test.each([
  ['https://*.example.org/team/*', 'https://git.example.org/team/a', true],
  ['https://*.example.org/team/*', 'https://evil.test/.example.org/team/a', false],
  ['https://*.example.org/team/*', 'https://evil.test#.example.org/team/a', false],
  ['https://*.example.org/team/*', 'https://evil.test?.example.org/team/a', false],
  ['https://*.example.org/team/*', 'https://evil.test\\.example.org/team/a', false],
  ['git@*.example.org:team/*', 'git@a.example.org:team/a', true],
  ['git@*.example.org:team/*', 'git@evil.test:.example.org:team/a', false],
  ['*.example.org:team/*', 'git@evil.test:x.example.org:team/a', false],
  ['ssh://git@*.example.org/*', 'ssh://git@evil.test/x.example.org/a', false],
  ['https://example.org/*', 'https://example.org@evil.test/a', false],
  ['*example.org/team/*', 'https://git.example.org/team/a', true],
  ['file://*', 'file:///srv/git/a', true],
  ['https://*', 'https://example.org/team/a', true],
  ['https://*', 'http://example.org/team/a', false],
  ['https://*.example.org*', 'https://evil.test/.example.org/a', false],
])('what --allow-repo %s says of %s', (pattern, repoUrl, allowed) => {
  expect(allowsRepo({ repos: [pattern] }, repoUrl)).toBe(allowed);
});
