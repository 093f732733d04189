// What it takes to verify the bundle of a long run, signed, in a clone.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, env, freshRepo, interleaved, many, measure, ms, node, script } from './measure.mjs';

export function verify(folder, quick) {
  const iterations = quick ? 100 : 1000;
  const project = join(folder, 'project');
  mkdirSync(project);
  freshRepo(project);
  const count = join(folder, 'count');
  const agent = script(
    join(folder, 'agent'),
    `#!/bin/sh
cat > /dev/null
i=$(cat '${count}' 2>/dev/null || echo 0); i=$((i+1)); echo $i > '${count}'; echo $i > '${project}/work'
[ $i -lt ${iterations} ] || echo '<promise>COMPLETE</promise>'
`,
  );
  writeFileSync(join(project, '.gitignore'), '.ralph\n');
  const options = { cwd: project, env };
  const limits = [
    '--max-iterations',
    String(iterations + 1),
    '--stuck-after',
    '0',
    '--quiet',
    '--containment',
    'off',
  ];
  execFileSync(node, [bin, 'loop', 'Count.', '--check', 'test -e work', '--agent', agent, ...limits], {
    ...options,
    stdio: 'ignore',
  });
  execFileSync('git', ['add', '--all'], options);
  execFileSync(
    'git',
    ['-c', 'user.name=b', '-c', 'user.email=b@example.invalid', 'commit', '--quiet', '-m', 'work'],
    options,
  );
  const key = join(folder, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  const [type, content] = readFileSync(`${key}.pub`, 'utf8').split(' ');
  writeFileSync(join(folder, 'signers'), `bench@example.invalid ${type} ${content}\n`);
  const bundle = join(folder, 'run.proof');
  execFileSync(node, [bin, 'report', '--bundle', bundle, '--sign-key', key], { ...options, stdio: 'ignore' });
  const empty = join(folder, 'empty.cjs');
  writeFileSync(empty, '');
  const plain = join(folder, 'plain.proof');
  execFileSync(node, [bin, 'report', '--bundle', plain], { ...options, stdio: 'ignore' });
  const looks = [node, bin, 'verify', plain];
  const signed = [node, bin, 'verify', bundle, '--allowed-signers', join(folder, 'signers')];
  for (const each of [looks, signed])
    if (measure(each, options).status !== 0) throw new Error('the bundle does not hold');
  const result = interleaved(quick ? 3 : 5, {
    node: () => many(10, [node, empty], options),
    plain: () => many(10, looks, options),
    signed: () => many(10, signed, options),
  });
  const row = (what, ours, limit) => ({
    id: 'P14',
    what: `verify, ${iterations} iterations, ${what}, CPU`,
    floor: `an empty node program ${ms(result.node.cpu)}`,
    ours: ms(ours.cpu),
    value: ours.cpu / result.node.cpu,
    limit,
  });
  return [
    row(`${Math.round(statSync(plain).size / 1024)} kB`, result.plain, 3),
    row('signed', result.signed, 4),
  ];
}
