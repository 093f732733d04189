/** In CI properties try the same examples each time, so that a red run is about the change. At home every run tries others. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';

if (process.env.CI) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 });

/** A state folder for all that the tests of a file do and start: commands of one test see what the others have recorded. */
process.env.XDG_STATE_HOME = mkdtempSync(
  join(process.env.RALPH_TEST_PLACES ?? tmpdir(), 'ralph-test-state-'),
);
