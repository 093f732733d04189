/**
 * Runs commands of the built program one after the other in this process, each as if it were started anew: its own modules, environment,
 * words and folder. It is asked over IPC, and ends each answer with a mark.
 */
import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';

const bin = join(import.meta.dirname, '../../dist/bin/ralph.cjs');
const bundle = join(dirname(bin), 'main.cjs');
const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(bundle, 'latin1')}\n})`;
const script = new Script(source, { filename: bundle });

process.on('disconnect', () => process.exit());
process.on('message', async ({ argv, cwd, env, mark }) => {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  process.argv = [process.execPath, bin, ...argv];
  const before = process.rawListeners('exit');
  let code = 'threw';
  try {
    code = await program().main(argv);
  } catch (error) {
    write(2, `thrown: ${error?.stack ?? error}\n`);
  }
  end(before);
  write(1, mark);
  write(2, mark);
  process.send({ code });
});

/** What was compiled serves all of them; what the modules remember does not. */
function program() {
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(bundle), module, bundle, dirname(bundle));
  return module.exports;
}

/** What the command does when its process ends. */
function end(before) {
  for (const listener of process.rawListeners('exit').filter(each => !before.includes(each))) {
    process.off('exit', listener.listener ?? listener);
    listener.call(process, 0);
  }
}

/** A pipe may be full of what the command has printed: its reader is given a millisecond. */
function write(fd, text) {
  for (let rest = Buffer.from(text); rest.length > 0; )
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
}
