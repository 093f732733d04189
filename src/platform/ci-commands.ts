/** CI systems obey commands that they find in what a program prints. What an agent says is not to be obeyed. */

/** GitHub: `::` where a line begins, spaces do not count; `##[` anywhere, as in Azure, with `##vso[`. TeamCity: `##teamcity[`. */
const LINE_COMMAND = /(^|[\n\r])([^\S\n\r]*):(?=:)/g;
const ANYWHERE = /##(?=(?:vso|teamcity)?\[)/g;

/** A mark of no width between the two signs: it reads the same, and is no command. */
const MARK = '\u2060';

/** Whether what is printed here is read by a CI system. */
export function isReadByCi(env: Readonly<Record<string, string | undefined>>): boolean {
  return Boolean(env.GITHUB_ACTIONS || env.TF_BUILD || env.TEAMCITY_VERSION);
}

/** Text for people. */
export function disarm(text: string): string {
  return text.replace(LINE_COMMAND, `$1$2:${MARK}`).replace(ANYWHERE, `#${MARK}#`);
}

/** JSON, or lines of it: the same data, written otherwise. No line of it begins with a colon. */
export function disarmJson(json: string): string {
  return json.replace(ANYWHERE, '#\\u0023');
}
