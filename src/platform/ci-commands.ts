/** CI systems obey commands that they find in what a program prints. What an agent says is not to be obeyed. */

/** GitHub: `::` where a line begins, spaces do not count, and U+0085 is one to it; `##[` anywhere, as in Azure, with `##vso[`. TeamCity: `##teamcity[`. */
const LINE_COMMAND = /(^|[\n\r])((?:[^\S\n\r]|\u0085)*):(?=:)/g;
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

/** The same for text that is printed piece by piece: two pieces make no command together. */
export function createDisarm(): (text: string) => string {
  let last = '';
  return text => {
    const isJoint = (last === ':' && text.startsWith(':')) || (last === '#' && /^[#[vt]/.test(text));
    last = text.at(-1) ?? last;
    return disarm(isJoint ? MARK + text : text);
  };
}

/** JSON, or lines of it: the same data, written otherwise. No line of it begins with a colon. */
export function disarmJson(json: string): string {
  return json.replace(ANYWHERE, '#\\u0023');
}
