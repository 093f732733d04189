import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folder } from './rig/repo.ts';

interface LockedPackage {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly resolved?: string;
}

const ROOT = join(import.meta.dirname, '..');
const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
const packages: Readonly<Record<string, LockedPackage>> = read('package-lock.json').packages;

test('the lockfile has every platform’s package, so that npm ci works wherever it was not made', {
  tags: 'promise',
}, () => {
  const missing = Object.values(packages)
    .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
    .filter(name => !Object.keys(packages).some(path => path.endsWith(`node_modules/${name}`)));
  expect(missing).toEqual([]);
});

test('the lockfile holds no download addresses', { tags: 'promise' }, () => {
  expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
});

test('every dependency is pinned', { tags: 'promise' }, () => {
  const { dependencies = {}, devDependencies } = read('package.json');
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+$/.test(String(version)),
  );
  expect(loose).toEqual([]);
});

interface Component {
  readonly name: string;
  readonly version: string;
  readonly scope: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

test('the bill of materials names everything that is in the bundles, with its hash', () => {
  const { bomFormat, components, metadata }: Record<string, unknown> & { components: readonly Component[] } =
    read('dist/sbom.cdx.json');
  expect(bomFormat).toBe('CycloneDX');
  expect(metadata).toMatchObject({ component: { name: read('package.json').name } });
  const inside = components.filter(({ scope }) => scope === 'required');
  // What the licences are printed of is what is in it: the build has one list for both.
  const licensed = readFileSync(join(ROOT, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const { name, version, hashes } of inside) {
    expect(licensed).toContain(`${name} ${version}\n`);
    expect(hashes?.[0]?.content, name).toMatch(/^[0-9a-f]{128}$/);
  }
  // Whatever package our source imports: its code is in a bundle, or it is one that users may add.
  const named = components.map(({ name }) => name);
  expect(named).toEqual(expect.arrayContaining([...new Set(imported())]));
});

/** The packages that `src` loads when it runs. */
function imported(): readonly string[] {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const importing = /^(?:import|export) (?!type )[^;]*?from '([^'.][^']*)'|\bimport\('([^'.][^']*)'/gm;
  return files
    .filter(name => /\.tsx?$/.test(name))
    .flatMap(name => [...readFileSync(join(ROOT, 'src', name), 'utf8').matchAll(importing)])
    .map(([, stated, loaded]) => stated ?? loaded ?? '')
    .filter(name => !name.startsWith('node:'))
    .map(name =>
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    );
}

test('nothing runs when it is installed, and nothing is installed with it', {
  tags: ['promise', 'P-package'],
}, () => {
  const { scripts, dependencies = {} } = read('package.json');
  expect(dependencies).toEqual({});
  expect(Object.keys(scripts).filter(name => /^(pre|post)?install$/.test(name))).toEqual([]);
});

test('the same source makes the same package, wherever it is built', { tags: 'P-package' }, () => {
  const copy = folder();
  const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const name of tracked.split('\0').filter(name => name !== '' && existsSync(join(ROOT, name))))
    cpSync(join(ROOT, name), copy.path(name));
  // Linked where that is possible, which takes no time.
  execFileSync('sh', [
    '-c',
    'cp -al "$1" "$2" 2>/dev/null || cp -a "$1" "$2"',
    'sh',
    join(ROOT, 'node_modules'),
    copy.dir,
  ]);
  const env = { ...process.env, TZ: 'Pacific/Auckland', LANG: 'tr_TR.UTF-8', LC_ALL: 'C' };
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: copy.dir, env });
  const packed = (cwd: string) => {
    const argv = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const said = execFileSync('npm', argv, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return JSON.parse(said)[0].integrity as string;
  };
  expect(packed(copy.dir)).toBe(packed(ROOT));
});

test('the package has what every host’s plugin is installed from', { tags: 'P-plugin-files' }, () => {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const files: readonly string[] = JSON.parse(packed)[0].files.map((file: { path: string }) => file.path);
  expect(files).toEqual(
    expect.arrayContaining([
      '.claude-plugin/marketplace.json',
      'plugins/claude/.claude-plugin/plugin.json',
      'plugins/claude/bin/gate.sh',
      'plugins/claude/bin/ralph-guard.cjs',
      'plugins/claude/bin/ralph-hook-main.cjs',
      'plugins/claude/bin/ralph-hook-more.cjs',
      'plugins/claude/bin/ralph-hook.cjs',
      'plugins/gemini/gemini-extension.json',
      'plugins/opencode/ralph.js',
    ]),
  );
  // Unpacking them is most of what installing takes: types that no export leads to stay out.
  expect(files.length).toBeLessThan(160);
});

test('the licences of what every report embeds are in it, and those of all that is bundled in the package', () => {
  const page = readFileSync(join(ROOT, 'dist/page/page.js'), 'utf8');
  const all = readFileSync(join(ROOT, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const name of ['preact', 'uplot']) {
    const licence = readFileSync(join(ROOT, 'node_modules', name, 'LICENSE'), 'utf8').trim();
    expect(page.slice(0, page.indexOf('*/'))).toContain(licence);
    expect(all).toContain(licence);
  }
});

test('what npm shows and allows is set, but for the address, which the source does not know', () => {
  const { keywords, publishConfig, peerDependencies, repository } = read('package.json');
  expect(keywords.length).toBeGreaterThan(5);
  expect(publishConfig).toEqual({ access: 'public', provenance: true });
  expect(peerDependencies['@anthropic-ai/sandbox-runtime']).toBe('>=0.0.83 <0.1.0');
  expect(repository).toBeUndefined();
});

describe('a version', () => {
  const HOLD_IT = [
    ...['package.json', 'package-lock.json', 'src/platform/version.ts', 'CHANGELOG.md'],
    ...['plugins/claude/.claude-plugin/plugin.json', 'plugins/gemini/gemini-extension.json'],
  ];
  /** A copy of the files that hold it. */
  function copied() {
    const { dir, path, read: text } = folder();
    for (const name of HOLD_IT) cpSync(join(ROOT, name), path(name), { recursive: true });
    const run = (script: string, ...args: string[]) =>
      spawnSync(process.execPath, [join(ROOT, 'scripts', script), ...args], {
        encoding: 'utf8',
        env: { ...process.env, RALPH_ROOT: dir },
      });
    return { path, text, run };
  }

  test('is set everywhere at once, and in no other place', () => {
    const { text, run } = copied();
    const before = HOLD_IT.map(text);
    expect(run('set-version.mjs', '9.8.7')).toMatchObject({ status: 0, stderr: '' });
    for (const [at, name] of HOLD_IT.entries()) {
      const [old, now] = [(before[at] ?? '').split('\n'), text(name).split('\n')];
      const changed = now.filter((line, number) => line !== old[number]);
      expect(changed.every(line => line.includes('9.8.7'))).toBe(true);
      expect(changed).toHaveLength(name === 'package-lock.json' ? 2 : 1);
    }
    expect(run('set-version.mjs', 'next').status).toBe(2);
  });

  test('is not published before it has a date, and the package an address', () => {
    const { path, run } = copied();
    const refused = run('prepublish.mjs');
    expect([refused.status, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/has no repository.*npm pkg set repository=[\s\S]*has no section for/),
    ]);
    run('set-version.mjs', '9.8.7');
    const manifest = JSON.parse(readFileSync(path('package.json'), 'utf8'));
    writeFileSync(path('package.json'), JSON.stringify({ ...manifest, repository: 'github:OWNER/REPO' }));
    cpSync(join(ROOT, 'dist/lib/index.js'), path('dist/lib/index.js'));
    expect(run('prepublish.mjs')).toMatchObject({ status: 0, stderr: '' });
  });
});

test('the forms for issues, and what updates dependencies, can be read', async () => {
  const { parse } = await import('yaml');
  for (const name of ['bug', 'idea']) {
    const form = parse(readFileSync(join(ROOT, `.github/ISSUE_TEMPLATE/${name}.yml`), 'utf8'));
    expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) });
    const ids = form.body.map(({ id }: { readonly id: string }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  }
  const { packageRules } = read('renovate.json');
  const named = packageRules.flatMap(
    ({ matchPackageNames = [] }: { readonly matchPackageNames?: readonly string[] }) => matchPackageNames,
  );
  expect(named.filter((name: string) => read('package.json').devDependencies[name] === undefined)).toEqual(
    [],
  );
});
