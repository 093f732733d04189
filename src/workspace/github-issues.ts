/** Issues of a GitHub repository, through the user's own `gh`: Ralph has no key for it and asks for none. */
import { tmpdir } from 'node:os';
import { type Draft, oneLine } from '../domain/stories/import.ts';
import { readCheckboxes } from '../domain/stories/markdown-tasks.ts';
import { isObject, type Json } from '../domain/text/json.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { capture } from '../platform/capture.ts';
import { tryTo } from '../platform/files.ts';
import { findProgram, outsideEnv } from '../platform/programs.ts';

export interface IssueQuery {
  /** `OWNER/REPO`. */
  readonly repository: string;
  readonly label?: string | undefined;
  /** The project: a `gh` in it is not run. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** More than anybody builds story by story. */
const MOST_ISSUES = 5_000;
const MOST_BYTES = 256 * 1024 * 1024;
const MOST_TIME = 300_000;
/** Characters of a body; the rest is where the issue is. */
const LONGEST_BODY = 4_000;

/** `github:OWNER/REPO`; undefined: it is something else. */
export function repositoryIn(source: string): string | undefined {
  return /^github:([A-Za-z0-9-]+\/[A-Za-z0-9._-]+)$/.exec(source)?.[1];
}

/** The open ones, oldest first. */
export async function readIssues(query: IssueQuery): Promise<readonly Draft[] | Problem> {
  const { repository, label, root, env } = query;
  const gh = findProgram('gh', env, root);
  if (isProblem(gh)) return { ...gh, fix: 'install it (https://cli.github.com), then: gh auth login' };
  const list = ['issue', 'list', '--repo', repository, '--state', 'open', '--limit', String(MOST_ISSUES)];
  const labelled = label === undefined ? [] : ['--label', label];
  const { code, stdout, output } = await capture(
    [gh, ...list, ...labelled, '--json', 'number,title,body,url'],
    {
      cwd: tmpdir(), // not in the project, whose git settings it would read
      env: { ...outsideEnv(env, root), GH_PROMPT_DISABLED: '1', NO_COLOR: '1' },
      timeout: MOST_TIME,
      most: MOST_BYTES,
    },
  );
  if (code !== 0) return whyFailed(repository, code, output);
  const issues = tryTo(() => JSON.parse(stdout) as unknown);
  if (!Array.isArray(issues))
    return { where: 'gh', what: 'its answer is no list of issues', fix: 'update gh' };
  return draftsOf(issues);
}

function whyFailed(repository: string, code: number, output: string): Problem {
  const said = oneLine(output).slice(0, 400);
  // gh says so with this exit code.
  if (code === 4 || /gh auth login|GH_TOKEN/.test(output))
    return { where: 'gh', what: `is not logged in: ${said}`, fix: 'gh auth login' };
  const what = code === 124 ? 'gave no answer in time' : `failed (exit code ${code}): ${said}`;
  return { where: 'gh', what, fix: `try it yourself: gh issue list --repo ${repository}` };
}

/** One that is listed twice, because pages shifted, is one. */
function draftsOf(issues: readonly unknown[]): readonly Draft[] {
  const byNumber = new Map<number, Draft>();
  for (const issue of issues)
    if (isObject(issue) && Number.isSafeInteger(issue.number))
      byNumber.set(Number(issue.number), draftOf(Number(issue.number), issue));
  return [...byNumber].sort(([a], [b]) => a - b).map(([, draft]) => draft);
}

function draftOf(number: number, { title, body, url }: Json): Draft {
  const { criteria, text } = readCheckboxes(typeof body === 'string' ? body : '');
  const cut =
    text.length > LONGEST_BODY ? `${text.slice(0, LONGEST_BODY).replace(/[\uD800-\uDBFF]$/, '')} …` : text;
  const link = typeof url === 'string' ? oneLine(url) : '';
  return {
    id: `GH-${number}`,
    title: oneLine(typeof title === 'string' ? title : '') || `Issue ${number}`,
    description: [cut, link].filter(each => each !== '').join('\n\n'),
    criteria,
    isDone: false,
  };
}
