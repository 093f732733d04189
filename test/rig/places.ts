/** One folder for the state of all test processes, removed when the last has ended: a worker is killed at its end, and removes nothing. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export default function setup(): (() => void) | undefined {
  if (process.env.RALPH_TEST_PLACES) return undefined;
  const places = mkdtempSync(join(tmpdir(), 'ralph-test-places-'));
  process.env.RALPH_TEST_PLACES = places;
  return () => rmSync(places, { recursive: true, force: true, maxRetries: 3 });
}
