// P15: what a newcomer downloads, and how long it takes until something answers.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env, here, interleaved, measure, ms, node } from './measure.mjs';

export function packaged(folder, quick) {
  const pack = cwd => {
    const argv = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const options = { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return join(folder, JSON.parse(execFileSync('npm', argv, options))[0].filename);
  };
  const tarball = pack(join(here, '..'));
  const nothing = join(folder, 'nothing');
  mkdirSync(nothing);
  writeFileSync(join(nothing, 'package.json'), '{"name":"nothing","version":"1.0.0"}');
  const ours = join(folder, 'ours');
  const install = (to, what) => () => {
    rmSync(to, { recursive: true, force: true });
    mkdirSync(to);
    writeFileSync(join(to, 'package.json'), '{"private":true}');
    return measure(['npm', 'install', '--offline', '--no-audit', '--no-fund', what], { cwd: to });
  };
  const empty = join(folder, 'empty.cjs');
  writeFileSync(empty, '');
  const bin = join(ours, 'node_modules/.bin/ralph');
  // Nothing is compiled yet: the first call of anybody.
  const first = () => measure([bin, '--help'], { env: { ...env, RALPH_CACHE_DIR: join(folder, 'cache') } });
  const result = interleaved(quick ? 3 : 5, {
    nothing: install(join(folder, 'theirs'), pack(nothing)),
    ours: install(ours, tarball),
    node: () => measure([node, empty]),
    help: first,
  });
  const megabytes = statSync(tarball).size / 1e6;
  const row = (what, floor, value, limit) => ({ id: 'P15', what, floor, value, limit });
  return [
    { ...row('the tarball', 'nothing', megabytes, 1.5), ours: `${megabytes.toFixed(2)} MB`, unit: 'MB' },
    {
      ...row(
        'installing it, CPU',
        `an empty package ${ms(result.nothing.cpu)}`,
        result.ours.cpu / result.nothing.cpu,
        2.5,
      ),
      ours: ms(result.ours.cpu),
    },
    {
      ...row(
        'the first ralph --help, CPU',
        `an empty node program ${ms(result.node.cpu)}`,
        result.help.cpu / result.node.cpu,
        1.5,
      ),
      ours: ms(result.help.cpu),
    },
  ];
}
