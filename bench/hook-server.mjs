// What a hook costs that asks the run instead of starting a program: requests one after another on one connection, as Claude Code makes them.
import { copyFileSync, mkdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { rolldown } from 'rolldown';
import { env, here, median } from './measure.mjs';

/** The median of a call in seconds, for each body. */
export async function servedCalls(folder, bodies, calls) {
  const { serveHooks } = await loadSource(folder, 'src/hooks/server.ts');
  // The rules of the guard are beside it, as in the plugin.
  copyFileSync(join(here, '../plugins/claude/bin/ralph-guard.cjs'), join(folder, 'ralph-guard.cjs'));
  const run = join(folder, 'run');
  mkdirSync(run, { recursive: true });
  const guard = { allow: [], deny: [], protect: [] };
  const served = await serveHooks({ run, root: folder, given: true, guard, monitor: {} }, env);
  const agent = new Agent({ keepAlive: true });
  const times = Object.fromEntries(Object.keys(bodies).map(name => [name, []]));
  for (let round = 0; round < calls; round++) {
    for (const [name, [event, body]] of Object.entries(bodies)) {
      const began = performance.now();
      await post(agent, `${served.url}/claude/${event}`, body);
      times[name].push((performance.now() - began) / 1000);
    }
  }
  agent.destroy();
  await served.close();
  return Object.fromEntries(Object.entries(times).map(([name, list]) => [name, median(list)]));
}

/** A module that neither the library nor the bin exports. */
export async function loadSource(folder, source) {
  mkdirSync(folder, { recursive: true });
  const build = await rolldown({
    input: join(here, '..', source),
    platform: 'node',
    logLevel: 'warn',
  });
  const file = join(folder, `${basename(source, '.ts')}.cjs`);
  await build.write({ file, format: 'cjs', codeSplitting: false });
  await build.close();
  return createRequire(import.meta.url)(file);
}

function post(agent, url, body) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: 'POST', agent }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk;
      });
      response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(text))));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
