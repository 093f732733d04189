/** The promises of the contract. Each has an id, which the tests that hold it carry as a tag; docs/reference/stability.md lists both. */

export const PROMISES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'The verdict': {
    'P-verdict':
      'Proof comes first, then violations, then limits: work that is finished in the last allowed iteration is finished.',
    'P-no-false-done': 'A claim without proof never ends a run as done.',
    'P-claim':
      "The marker counts in the agent's own words, where it stands for itself; a near miss is named.",
  },
  'Every command': {
    'P-exit-codes':
      'Exit codes: 0 done, 1 stopped without being done, 2 the user can fix it, 130 interrupted.',
    'P-json': '`--json`: one result on stdout, and nothing else there.',
    'P-json-fields': 'A field of `--json` keeps its name and its kind.',
    'P-events': '`--events`: one JSON event a line.',
    'P-plain': '`--plain`: lines of text alone.',
    'P-problems': 'Bad input: every problem at once, each with a fix, and nothing is written.',
    'P-dry-run': '`--dry-run` shows what would be done, and does nothing.',
    'P-agent-choice': 'Without `--agent` the first one that is installed is used, and that is said.',
    'P-permissions':
      'An agent that may do everything without a sandbox is said once; one that is refused its tools stops the run.',
    'P-project-root': 'The project is found from any folder in it.',
  },
  '`ralph run`': {
    'P-prompt':
      'The prompt reaches the agent byte for byte, and never as an argument where the agent can take it another way.',
    'P-prompt-file': 'A prompt file is read anew for every iteration.',
    'P-layers': 'Local settings are laid over shared ones, and flags over both.',
    'P-guardrails': 'A guardrail that fails keeps the run from ending, and its output is in the next prompt.',
    'P-commit': "A commit holds what the agent made, new files too, and nothing of Ralph's or of the user.",
    'P-push': 'A push that fails is reported, and keeps the commit.',
    'P-signals': 'One signal lets the step finish, a second ends everything at once; exit code 130.',
    'P-init': '`ralph init` asks what it says, and what it writes is accepted.',
    'P-display': 'The stream shows tools with their results, and what it cost.',
  },
  '`ralph loop`': {
    'P-loop-done': 'Done needs every check green and the claim.',
    'P-loop-prompt':
      'A prompt holds the task, the rules, the diff, the errors and the progress, and nothing else carries over.',
    'P-check-timeout': 'A check that takes too long fails, and everything that it started is ended.',
    'P-yaml': 'A YAML file sets what flags do not.',
    'P-worktree': 'A worktree holds the work on its own branch, and is not removed while it holds work.',
    'P-protect': 'Protected files are put back before the checks run, and the agent hears of it.',
    'P-baseline': 'With `--baseline` the agent hears which checks were red before.',
    'P-stuck': 'The same failure without a change is said, then ends the run as stuck.',
    'P-blocked': 'An agent that says that it is blocked ends the run with its reason.',
    'P-best': 'A run goes back to its best iteration, and says what was undone.',
    'P-fork': 'A run is forked at one of its iterations.',
  },
  '`ralph prd`': {
    'P-prd-init': '`prd init` creates the files of a list.',
    'P-prd-plan': '`prd plan` and the skill of the plugin are one text.',
    'P-prd-modes': 'Implement, review, fix, review again, approved.',
    'P-prd-done': 'Only approved stories complete a list.',
    'P-prd-enforced': 'A change of the list that an iteration may not make is undone, whatever the agent.',
    'P-prd-cap': 'At the review cap a story is let through, or the run stops: as you choose.',
    'P-prd-checks': 'The checks of a list count for its stories.',
    'P-prd-words': "An approval that the reviewer's words contradict does not count.",
    'P-prd-questions': 'A story that asks waits, and others continue.',
    'P-prd-archive': '`prd archive` moves the files, and nothing else.',
    'P-prd-one': 'A second loop on a list is refused.',
  },
  'Sessions and hooks': {
    'P-session-input': 'What a user types is data: no shell sees it.',
    'P-session-two': 'Two sessions have a loop each, and neither can end or steer the other.',
    'P-session-work': 'A claim without work is rejected.',
    'P-session-checks': 'A session runs its checks for every claim.',
    'P-session-free': 'Another prompt of the user is left alone.',
    'P-session-ledger': 'Every decision in a session is on its ledger.',
    'P-hook-open': 'A hook that fails lets the agent pass and says so.',
    'P-hook-silent': 'Without a loop every event passes in silence.',
    'P-hook-hosts': 'Each host is answered in its own format.',
    'P-guard': 'A dangerous tool call is refused before it runs.',
    'P-monitor': 'The context monitor warns at each threshold once.',
  },
  'Runs, limits, trouble': {
    'P-run-folder': 'A run keeps its settings, every prompt, the raw stream, every check.',
    'P-nothing-lost': 'Killed at any moment, a run is resumed: nothing is counted or committed twice.',
    'P-no-orphans': 'Nothing that Ralph started outlives it.',
    'P-disk': 'A disk that is full ends the run with a sentence, and it can be resumed.',
    'P-replay': 'Every verdict of a recorded run comes out the same.',
    'P-budget': 'A budget that is spent ends the turn that spends it.',
    'P-rate-limit': 'A rate limit is waited for, or another agent continues; neither is counted.',
    'P-transient': 'A transient error is tried again and not counted.',
    'P-secrets': 'No secret of the environment is in what Ralph keeps.',
    'P-sandbox': 'In a sandbox agent and checks run inside.',
    'P-steer': 'A hint is in the next prompt, byte for byte, once.',
  },
  Proof: {
    'P-proof-claimed': 'Without a check a run is a claim, and says no more.',
    'P-proof-place': 'A proof in place names the tree that was checked.',
    'P-proof-clean': 'A clean proof is what passes in a checkout, and nothing else.',
    'P-strict': 'With `--strict` a change to what the checks rest on voids the proof.',
    'P-scm-failed': 'What is proven and cannot be committed ends with `scm_failed`.',
    'P-one-list': 'Checks and guardrails are one list for every loop.',
    'P-tests-changed': 'Tests that a run changed are named.',
    'P-bundle': 'A bundle holds on another machine, and the checks pass there again.',
    'P-mutate': '`ralph mutate` names the faults that no check notices, and touches nothing.',
  },
  'Taking the work over': {
    'P-land': '`ralph land` merges what passes on the merged tree, or changes nothing.',
    'P-discard': '`ralph discard` can be undone.',
    'P-pr': 'A proven run gets one draft; one that is not proven gets none.',
    'P-pr-follow': '`--follow` works on red checks and on reviews of people who may write.',
    'P-watch': '`ralph watch` turns the issues that a writer has labelled into runs and pull requests.',
    'P-token': 'The token of a forge reaches neither agent nor paper.',
  },
  'Several at once': {
    'P-parallel': 'What lands was checked as it lands.',
    'P-tasks': 'A list of tasks is worked on side by side.',
    'P-lanes': 'A lane has ports and names of its own.',
    'P-fleet': 'A worker works on a unit until it is proven.',
    'P-fleet-versions': 'Workers of two versions work side by side, or part.',
  },
  Formats: {
    'P-settings-version': 'Settings of a later version are refused, old names are named with the new one.',
    'P-migrate': '`ralph migrate` shows and writes the change.',
    'P-formats-read': 'What an earlier release wrote is read: settings, runs, bundles, sessions, databases.',
    'P-formats-later': 'What a later release wrote is refused with a sentence, and stays as it is.',
    'P-library': 'The library does what the commands do, with the same result.',
    'P-plugin-files': 'The files of the plugins are in the package.',
  },
  'The page': {
    'P-page-keyboard': 'Everything on the page can be done by keyboard, and the focus is never lost.',
    'P-page-calm': 'A screen reader hears of what changed, and nothing while an agent works.',
    'P-page-motion': 'Nothing moves where that is not wanted.',
    'P-page-zoom': 'Four times as large, nothing is beyond the edge.',
    'P-page-colours': 'With forced colours nothing that a colour says is gone.',
  },
  'On your machine': {
    'P-demo': '`ralph demo` shows everything without a key, a model or a network.',
    'P-sends-nothing': 'Ralph sends nothing that it was not asked to send.',
    'P-support': 'The file for a bug report holds neither words nor secrets.',
    'P-uninstall': '`ralph uninstall --all` leaves nothing of Ralph.',
    'P-package':
      'Nothing runs when the package is installed, and nothing is installed with it; the same source makes the same package.',
  },
};

export const PROMISE_IDS: readonly string[] = Object.values(PROMISES).flatMap(group => Object.keys(group));

export interface Holding {
  readonly id: string;
  readonly file: string;
  readonly title: string;
}

/** The ids that tests carry, from their source. */
export function findHoldings(file: string, source: string): readonly Holding[] {
  const tagged = /(['"`])((?:\\.|(?!\1)[^\n])*)\1,\s*\{\s*tags:\s*(\[[^\]]*\]|'[^']*')/g;
  return [...source.matchAll(tagged)].flatMap(([, , title = '', tags = '']) =>
    [...tags.matchAll(/'(P-[^']*)'/g)].map(([, id = '']) => ({
      id,
      file,
      title: title.replaceAll('\\', ''),
    })),
  );
}
