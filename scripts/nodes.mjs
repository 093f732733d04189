// Other versions of Node, installed beside ours in a cache.
import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** The folder of its programs; undefined: it could not be had. */
export function nodeOf(version) {
  if (process.version.startsWith(`v${version}.`)) return dirname(process.execPath);
  const folder = join(process.env.RALPH_NODES_DIR ?? join(homedir(), '.cache/ralph-nodes'), String(version));
  const bin = join(folder, 'node_modules/.bin');
  if (isVersion(version, bin)) return bin;
  const flags = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', folder];
  spawnSync('npm', ['install', ...flags, `node@${version}`], { stdio: 'inherit' });
  return isVersion(version, bin) ? bin : undefined;
}

function isVersion(version, bin) {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const { stdout } = spawnSync('node', ['--version'], { env, encoding: 'utf8' });
  return stdout?.startsWith(`v${version}.`) === true;
}
