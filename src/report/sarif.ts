/** Violations and red checks as SARIF 2.1.0, which code hosts show beside the code. */
import { harmless } from '../platform/text.ts';
import { counted } from './numbers.ts';
import { phrase } from './phrases.ts';
import { type CheckView, lastChecks, type RunView, type ViolationView } from './run-view.ts';

const RULES = [
  {
    id: 'protected-path',
    shortDescription: { text: 'The agent changed something that is not its to change.' },
    defaultConfiguration: { level: 'error' },
  },
  {
    id: 'check-failed',
    shortDescription: { text: 'A check was red when the run ended.' },
    defaultConfiguration: { level: 'error' },
  },
] as const;

export function sarifOf(view: RunView, version: string): string {
  const results = [
    ...view.violations.map(violationResult),
    ...lastChecks(view)
      .filter(check => !check.passed)
      .map(checkResult),
  ];
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'ralph', version, rules: RULES } },
        automationDetails: { id: `ralph/${view.command}/${view.runId}` },
        results,
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

/** What was put back is on record, but is no longer wrong. */
function violationResult({ what, restored, iteration }: ViolationView) {
  const undone = restored ? 'It was put back.' : 'It was NOT put back.';
  return {
    ruleId: 'protected-path',
    level: restored ? 'note' : 'error',
    message: { text: `Iteration ${iteration}: ${phrase(what)}. ${undone}` },
    locations: [location(pathIn(what))],
  };
}

function checkResult({ command, exitCode, timedOut, ungated, flaked, logFile }: CheckView) {
  const how = timedOut ? 'timed out' : `failed with exit code ${exitCode}`;
  const again = flaked > 0 ? ` after ${counted(flaked, 'failure')} before` : '';
  return {
    ruleId: 'check-failed',
    level: ungated ? 'note' : 'error',
    message: {
      text: `\`${phrase(command)}\` ${how}${again}.${ungated ? ' It was red before the run.' : ''}`,
    },
    locations: [location(logFile)],
  };
}

/** A code host wants a place for everything; where there is none it is the project itself. */
function location(path: string) {
  const uri = path === '' ? '.' : harmless(path).split('/').map(encodeURIComponent).join('/');
  return { physicalLocation: { artifactLocation: { uri, uriBaseId: '%SRCROOT%' } } };
}

/** `test/sum.test.js was deleted`: the words begin with the path. */
function pathIn(what: string): string {
  return /^(.+?) (?:was|is) /.exec(what)?.[1] ?? '';
}
