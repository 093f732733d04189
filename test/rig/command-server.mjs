/** Runs commands of the built program one after the other in this process: it is asked over IPC, and ends each answer with a mark. */
import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';

const { main } = createRequire(import.meta.url)('../../dist/bin/main.cjs');

process.on('message', async ({ argv, cwd, mark }) => {
  process.chdir(cwd);
  let code = 'threw';
  try {
    code = await main(argv);
  } catch (error) {
    write(2, `thrown: ${error?.stack ?? error}\n`);
  }
  write(1, mark);
  write(2, mark);
  process.send({ code });
});

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
