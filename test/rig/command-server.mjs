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
    writeSync(2, `thrown: ${error?.stack ?? error}\n`);
  }
  writeSync(1, mark);
  writeSync(2, mark);
  process.send({ code });
});
