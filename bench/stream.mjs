// P3: an agent that floods.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, env, here, measure, node, script } from './measure.mjs';

export function stream(folder, quick) {
  const text = `#!/bin/sh\nexec '${node}' '${join(here, 'flood.mjs')}' "$RALPH_BENCH_BYTES" "$RALPH_BENCH_KIND" '${join(folder, 'peak')}'\n`;
  const agent = script(join(folder, 'claude'), text);
  const floor = join(folder, 'parse.cjs');
  writeFileSync(
    floor,
    `let rest = ''; process.stdin.setEncoding('utf8').on('data', c => { const lines = (rest + c).split('\\n'); rest = lines.pop(); for (const l of lines) JSON.parse(l); });`,
  );
  const flood = (bytes, kind) => ({
    cwd: folder,
    env: { ...env, PATH: `${folder}:${env.PATH}`, RALPH_BENCH_BYTES: String(bytes), RALPH_BENCH_KIND: kind },
  });
  const ours = (bytes, kind) => {
    const argv = [node, bin, 'run', '-p', 'go', '--agent', agent, '-m', '1', '--quiet'];
    const { wall, status } = measure(argv, flood(bytes, kind));
    return { wall, isRight: status === 0, peak: Number(readFileSync(join(folder, 'peak'), 'utf8')) };
  };
  const parsed = (bytes, kind) =>
    measure(['sh', '-c', `'${agent}' | '${node}' '${floor}'`], flood(bytes, kind)).wall;
  const big = quick ? 3e8 : 1e9;
  const rate = (bytes, wall) => `${(bytes / 1e6 / wall).toFixed(0)} MB/s`;
  const small = ours(1e8, 'lines');
  const large = ours(big, 'lines');
  const largeFloor = parsed(big, 'lines');
  const line = ours(5e7, 'line');
  const lineFloor = parsed(5e7, 'line');
  const row = rest => ({ id: 'P3', ...rest });
  return [
    row({
      what: `${big / 1e6} MB of lines, speed`,
      floor: `parsing every line ${rate(big, largeFloor)}`,
      ours: rate(big, large.wall),
      value: largeFloor / large.wall,
      limit: 1,
      atLeast: true,
    }),
    row({
      what: `${big / 1e6} MB of lines, peak memory`,
      floor: 'nothing',
      ours: `${large.peak} MB`,
      value: large.peak,
      unit: 'MB',
      limit: 100,
    }),
    row({
      what: 'peak memory does not grow with the stream',
      floor: `100 MB: ${small.peak} MB`,
      ours: `${large.peak} MB`,
      value: large.peak / small.peak,
      limit: 1.25,
    }),
    row({
      what: 'a line of 50 MB, speed',
      floor: `parsing it ${rate(5e7, lineFloor)}`,
      ours: rate(5e7, line.wall),
      value: lineFloor / line.wall,
      limit: 3,
      atLeast: true,
    }),
    row({
      what: 'a line of 50 MB, peak memory',
      floor: 'nothing',
      ours: `${line.peak} MB`,
      value: line.peak,
      unit: 'MB',
      limit: 120,
    }),
    row({
      what: 'the claim is found, the false ones are not',
      floor: '3 streams',
      ours: String([small, large, line].filter(each => each.isRight).length),
      value: [small, large, line].filter(each => each.isRight).length,
      unit: '',
      limit: 3,
      atLeast: true,
    }),
  ];
}
