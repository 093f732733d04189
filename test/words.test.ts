/** The words of STYLE's "Plain English" that no reader should have to decode: not in code, comments, documents or exported names. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

/** What a person may read, on the screen or in the source. Bundles are generated from `src`. */
const READ = [
  ...['src', 'docs', 'templates', 'schema', 'plugins', 'examples', 'scripts', 'bench'],
  ...[
    'README.md',
    'CONTEXT.md',
    'CHANGELOG.md',
    'AGENTS.md',
    'CONTRIBUTING.md',
    'action.yml',
    'package.json',
  ],
];

const FORBIDDEN = new RegExp(
  [
    'mend(s|ed|ing)?',
    '(go|goes|going|gone|went) on', // continue, resume, still running
    'dearer',
    'at work', // running
    '(use|uses|using|used) up',
    '(come|comes|coming|came) to',
  ]
    .map(words => `\\b${words}\\b`)
    .join('|'),
  'gi',
);

/** Sentences that may use them, word by word; a seed that says one is a reason. */
const EXEMPT: readonly string[] = ['a problem has `fix` where it had `mend`'];

/** Files whose words are still to be changed. Empty is the aim; a file that is clean must be taken off. */
const TO_BE_CLEANED: readonly string[] = [
  'bench/hooks.mjs',
  'bench/scale.mjs',
  'docs/adr/0013-one-story-hook-for-its-own-agent.md',
  'docs/adr/0014-hooks-ask-the-run.md',
  'docs/dashboard.md',
  'docs/guard.md',
  'docs/hooks.md',
  'docs/in-session-hosts.md',
  'docs/in-session.md',
  'docs/notify.md',
  'docs/reference/commands.md',
  'docs/report.md',
  'plugins/opencode/ralph.js',
  'src/agents/abridge.ts',
  'src/agents/codex/adapter.ts',
  'src/agents/invoke.ts',
  'src/agents/opencode/adapter.ts',
  'src/cli/command-list.ts',
  'src/cli/commands/continue.ts',
  'src/cli/commands/log.ts',
  'src/cli/commands/resume.ts',
  'src/dashboard/house.ts',
  'src/dashboard/server.ts',
  'src/domain/event.ts',
  'src/domain/evidence.ts',
  'src/domain/limits.ts',
  'src/domain/next.ts',
  'src/domain/notification.ts',
  'src/domain/retry.ts',
  'src/domain/session.ts',
  'src/domain/stop-reason.ts',
  'src/domain/usage.ts',
  'src/domain/verdict.ts',
  'src/hooks/commands.ts',
  'src/hooks/copilot.ts',
  'src/hooks/host.ts',
  'src/hooks/qwen.ts',
  'src/hooks/server.ts',
  'src/hooks/stop.ts',
  'src/hooks/story-stop.ts',
  'src/hooks/tool-call.ts',
  'src/opening/sandbox-spec.ts',
  'src/opening/sandbox.ts',
  'src/page/all-runs.tsx',
  'src/page/controls.tsx',
  'src/page/curves.tsx',
  'src/page/dashboard.tsx',
  'src/page/iterations.tsx',
  'src/page/live-run.ts',
  'src/page/now.tsx',
  'src/page/server.ts',
  'src/platform/files.ts',
  'src/platform/spawn.ts',
  'src/platform/text.ts',
  'src/plugins/marketplace-hosts.ts',
  'src/report/details.ts',
  'src/report/explain.ts',
  'src/report/html.ts',
  'src/report/human.ts',
  'src/report/live-line.ts',
  'src/report/live-usage.ts',
  'src/report/markdown.ts',
  'src/report/phrases.ts',
  'src/report/read-run.ts',
  'src/report/remarks.ts',
  'src/report/replay.ts',
  'src/report/resumption.ts',
  'src/report/run-fold.ts',
  'src/report/run-view.ts',
  'src/report/runs-figures.ts',
  'src/report/simulate.ts',
  'src/report/status.ts',
  'src/report/stories.ts',
  'src/report/summary.ts',
  'src/report/text-stream.ts',
  'src/report/verdict-words.ts',
  'src/report/waits.ts',
  'src/store/active-file.ts',
  'src/store/journal.ts',
  'src/store/overview.ts',
  'src/store/paths.ts',
  'src/store/prd-folder.ts',
  'src/store/prd-paths.ts',
  'src/store/progress.ts',
  'src/store/session-ledger.ts',
  'src/stories/keeper.ts',
  'src/stories/open.ts',
  'src/stories/plan.ts',
  'src/turns/attempts.ts',
  'src/turns/function-agent.ts',
  'src/turns/keep-changes.ts',
  'src/turns/pausing.ts',
  'src/workspace/git-lock.ts',
  'src/workspace/kept.ts',
  'src/workspace/protect.ts',
  'src/workspace/worktree.ts',
];

function filesBelow(path: string): readonly string[] {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  return readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' })
    .map(name => join(path, name))
    .filter(name => /\.(tsx?|mjs|js|sh|css|md|json|toml|txt|ya?ml)$/.test(name));
}

/** A phrase may be broken over two lines of prose or of a comment, or be one name in camel case. */
function found(text: string): readonly string[] {
  const prose = EXEMPT.reduce((rest, sentence) => rest.replaceAll(sentence, ''), text)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .replace(/\s*\n\s*(?:\/\/+|\*+(?!\/)|#|>)?\s*/g, ' ');
  return prose.match(FORBIDDEN) ?? [];
}

const offending = READ.flatMap(filesBelow)
  .map(file => ({ file, words: found(readFileSync(join(ROOT, file), 'utf8')) }))
  .filter(({ words }) => words.length > 0);

test('no text or name uses the words that plain English replaces', () => {
  expect(offending.filter(({ file }) => !TO_BE_CLEANED.includes(file))).toEqual([]);
});

test('a file that is clean is not listed as to be cleaned', () => {
  const dirty = offending.map(({ file }) => file);
  expect(TO_BE_CLEANED.filter(file => !dirty.includes(file))).toEqual([]);
});

test.each([
  ['2 things to mend', 1],
  ['the run goes\n * on, and was going on', 2],
  ['const DEARER = isUsedUp(cameTo)', 3],
  ['recommended amendments cost more; go once; at workspace', 0],
])('%j holds %i of them', (text, count) => {
  expect(found(text)).toHaveLength(count);
});
