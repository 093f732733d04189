import { expect, test } from 'vitest';
import { addHint, settleHints, waitingHints } from '../../src/store/hints.ts';
import { createJournal } from '../../src/store/journal.ts';
import { runPaths } from '../../src/store/paths.ts';
import { folder } from '../rig/repo.ts';

const GO_ON = { kind: 'continue', feedback: [] } as const;
const SPENT = {
  iterations: 2,
  failures: 0,
  toolCalls: 0,
  usage: { costSource: 'unknown' },
  elapsed: 1,
} as const;

test('after a crash between the end of an iteration and the moving of its hints, they are not told again', () => {
  const paths = runPaths(folder().dir, 'r');
  const [told = '', broken = '', carried = ''] = ['told', 'broken', 'carried', 'new'].map((text, at) =>
    addHint(paths, text, at),
  );
  const journal = createJournal(paths.events, () => 0);
  journal.append({ type: 'told', iteration: 2, hint: told, text: 'told' });
  journal.append({
    type: 'judged',
    iteration: 2,
    verdict: GO_ON,
    treeChanged: null,
    tree: null,
    repeats: 0,
    spent: SPENT,
    limits: { maxIterations: 9, maxFailures: 3, stuckAfter: 3 },
  });
  // A signal broke this one off: it ended without being judged, and is taken again.
  journal.append({ type: 'told', iteration: 3, hint: broken, text: 'broken' });
  journal.append({
    type: 'iteration-ended',
    iteration: 3,
    claim: { found: false },
    verdict: GO_ON,
    usage: { costSource: 'unknown' },
  });
  journal.append({ type: 'told', iteration: 3, hint: carried, text: 'carried' });
  journal.close();
  expect(settleHints(paths)).toEqual([broken, carried]);
  expect(waitingHints(paths).map(hint => hint.text)).toEqual(['broken', 'carried', 'new']);
});

test('hints keep their order, and other files are none', () => {
  const repo = folder();
  const paths = runPaths(repo.dir, 'r');
  const texts = Array.from({ length: 20 }, (_, at) => `hint ${at}`);
  for (const [at, text] of texts.entries()) addHint(paths, text, at);
  repo.write('r/hints/README.md', 'not one');
  repo.write('r/hints/00000000000001-abcdef01.md.99-1.tmp', 'half');
  expect(waitingHints(paths).map(hint => hint.text)).toEqual(texts);
});
