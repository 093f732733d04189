import { expect, test } from 'vitest';
import { addHint, settleHints, waitingHints } from '../../src/store/hints.ts';
import { createJournal } from '../../src/store/journal.ts';
import { runPaths } from '../../src/store/paths.ts';
import { folder } from '../rig/repo.ts';

const NO_CLAIM = { found: false } as const;
const GO_ON = { kind: 'continue', feedback: [] } as const;

test('after a crash between the end of an iteration and the moving of its hints, they are not told again', () => {
  const paths = runPaths(folder().dir, 'r');
  const ids = ['told', 'carried', 'new'].map((text, at) => addHint(paths, text, at));
  const [told = '', carried = ''] = ids;
  const journal = createJournal(paths.events, () => 0);
  journal.append({ type: 'told', iteration: 2, hint: told, text: 'told' });
  journal.append({
    type: 'iteration-ended',
    iteration: 2,
    claim: NO_CLAIM,
    verdict: GO_ON,
    usage: { costSource: 'unknown' },
  });
  journal.append({ type: 'told', iteration: 3, hint: carried, text: 'carried' });
  journal.close();
  settleHints(paths);
  expect(waitingHints(paths).map(hint => hint.text)).toEqual(['carried', 'new']);
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
