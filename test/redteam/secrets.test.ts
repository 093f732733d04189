/** Secrets that agent and checks print: none is in a prompt, in a file of the run, or in anything that leaves the machine. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Repo } from '../rig/repo.ts';
import { type Arena, type Attack, attacks } from './rig.ts';

const TOKEN = 'Zq8first-secret-value-9f3';
const DATABASE = 'postgres://app:p4ssw0rd-of-db@db.example/shop';
const GITHUB = `ghp_${'a1B2'.repeat(9)}`;
const ENV = { SHOP_API_TOKEN: TOKEN, DATABASE_URL: DATABASE };

/** What must be nowhere, in the forms that the attacks print. */
const LEAKS: string[] = [TOKEN, 'p4ssw0rd-of-db', GITHUB, Buffer.from(TOKEN).toString('base64').slice(0, 30)];

const PAIRS = Buffer.from(TOKEN).toString('hex').match(/../g) ?? [];
/** The same token as a program may write it, and two parts of each that say enough. */
const FORMS = [
  PAIRS.join(' '),
  PAIRS.join(':'),
  PAIRS.map(pair => `%${pair}`).join(''),
  PAIRS.map(pair => `\\x${pair}`).join(''),
  PAIRS.map(pair => `&#x${pair};`).join(''),
  PAIRS.map(pair => `&#${Number.parseInt(pair, 16)};`).join(''),
  Array.from(TOKEN).join('\u034f'),
  Buffer.from(Buffer.from(TOKEN).toString('base64')).toString('base64'),
];
LEAKS.push(...FORMS.flatMap(form => [form.slice(0, 24), form.slice(-24)]));

/** Everything below a folder but what the agent itself wrote. */
function textsIn(dir: string): readonly string[] {
  return readdirSync(dir).flatMap(name => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? textsIn(path) : [readFileSync(path, 'utf8')];
  });
}

function isClean(...texts: readonly string[]): boolean {
  return !texts.some(text => LEAKS.some(leak => text.includes(leak)));
}

interface Leak {
  /** What the agent does; it also writes its prompts to `prompts`. */
  readonly agent?: string;
  readonly check?: string;
  /** More arguments of the run. */
  readonly args?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
}

async function leak(
  { agent, project, ralph, outside }: Arena,
  { agent: does = ':', check = 'false', args = [], files = {} }: Leak,
) {
  const repo = project({ 'a.txt': 'a\n', ...files });
  const command = agent(`cat >> '${outside}/prompts'\n${does}\necho '<promise>COMPLETE</promise>'`);
  const finished = await ralph(
    [
      'loop',
      'fix it',
      '--agent',
      command,
      '--check',
      check,
      '--max-iterations',
      '2',
      '--json',
      '--junit',
      'junit.xml',
      ...args,
    ],
    { cwd: repo.dir, env: { ...ENV, GITHUB_STEP_SUMMARY: join(outside, 'summary.md') } },
  );
  const again = (...words: string[]) => ralph(words, { cwd: repo.dir, env: {} });
  return { repo, finished, again, prompts: readFileSync(join(outside, 'prompts'), 'utf8') };
}

async function isHeld(arena: Arena, how: Leak): Promise<boolean> {
  const { repo, finished, prompts } = await leak(arena, how);
  return isClean(
    finished.stdout,
    finished.stderr,
    prompts,
    readFileSync(join(repo.dir, 'junit.xml'), 'utf8'),
    readFileSync(join(arena.outside, 'summary.md'), 'utf8'),
    ...runFiles(repo),
  );
}

function runFiles(repo: Repo): readonly string[] {
  return textsIn(join(repo.dir, '.ralph'));
}

function row(name: string, how: Leak): Attack {
  return { name, held: { plain: true }, attempt: arena => isHeld(arena, how) };
}

attacks('Secrets', [
  row('A failing check prints a token of the environment', {
    check: 'echo "bad token $SHOP_API_TOKEN"; false',
  }),
  row('A check prints it in colours, in the middle of it', {
    check:
      'printf "%s\\033[0m%s\\n" "$(echo $SHOP_API_TOKEN | cut -c1-9)" "$(echo $SHOP_API_TOKEN | cut -c10-)"; false',
  }),
  row('A check prints it in base64', { check: 'printf %s "$SHOP_API_TOKEN" | base64; false' }),
  row('A check prints it broken into lines', { check: 'echo "$SHOP_API_TOKEN" | fold -w 7; false' }),
  row('A check prints it in eight more encodings', {
    check: `cat forms; false`,
    files: { forms: FORMS.join('\n') },
  }),
  row('A check prints a token that no variable holds, broken into lines', {
    check: 'printf "remote: ghp_%s\\n" "$(printf "a1B2%.0s" 1 2 3 4 5 6 7 8 9)" | fold -w 17; false',
  }),
  row('A check prints the password of an address alone', {
    check: 'echo "refused for $DATABASE_URL:"; echo "$DATABASE_URL" | sed "s/.*app://; s/@.*//"; false',
  }),
  row('A check prints a token that no variable holds', {
    check: 'printf "remote: ghp_%s\\n" "$(printf "a1B2%.0s" 1 2 3 4 5 6 7 8 9)"; false',
  }),
  row('A check prints it at the end of a megabyte without a space', {
    check: 'head -c 1000000 /dev/zero | tr "\\0" x; echo " $SHOP_API_TOKEN"; false',
  }),
  row('The agent says it in its own words', { agent: 'echo "I use $SHOP_API_TOKEN"' }),
  row('The agent says it in pieces', {
    agent:
      'printf %s "I use $(echo $SHOP_API_TOKEN | cut -c1-9)"; sync; printf "%s\\n" "$(echo $SHOP_API_TOKEN | cut -c10-)"',
  }),
  row('The agent prints the environment on stderr and fails', { agent: 'env >&2; exit 3' }),
  row('The agent writes it into a file that the next prompt shows as changed', {
    agent: 'echo "key = $SHOP_API_TOKEN" > a.txt',
  }),
  {
    name: 'Reports of every format are made in a shell without the variable',
    held: { plain: true },
    async attempt(arena) {
      const { again } = await leak(arena, { agent: 'echo "I use $SHOP_API_TOKEN"', check: 'env; false' });
      const formats = ['md', 'html', 'json', 'junit', 'sarif'];
      const reports = await Promise.all(formats.map(format => again('report', '--format', format)));
      const log = await again('log');
      return isClean(log.stdout, ...reports.map(({ stdout }) => stdout));
    },
  },
  {
    name: 'What Ralph commits, the state, the explanation and the bundle of a run are read',
    held: { plain: true },
    async attempt(arena) {
      const says = `echo "I use $SHOP_API_TOKEN"; echo b > a.txt; cat forms`;
      const { repo, again } = await leak(arena, {
        agent: says,
        check: 'env; cat forms; true',
        files: { forms: FORMS.join('\n') },
      });
      const made = await Promise.all([
        again('status', '--json'),
        again('explain'),
        again('log', '--json'),
        again('report', '--bundle', 'run.proof'),
      ]);
      const bundle = repo.read('run.proof');
      const texts = bundle.match(/[\w+/=]{40,}/g)?.map(each => Buffer.from(each, 'base64').toString()) ?? [];
      const messages = repo.git('log', '--all', '--format=%B');
      return isClean(messages, bundle, ...texts, ...made.map(({ stdout, stderr }) => stdout + stderr));
    },
  },
  {
    name: 'A notification is sent',
    held: { plain: true },
    async attempt(arena) {
      const { repo } = await leak(arena, {
        agent: 'echo "<blocked>the key $SHOP_API_TOKEN is refused</blocked>"',
        args: ['--notify', 'cat > notified; echo "$RALPH_MESSAGE" >> notified'],
      });
      return isClean(repo.read('notified'));
    },
  },
]);
