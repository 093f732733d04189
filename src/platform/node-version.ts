/** Which Node Ralph runs on. */

const NEEDED = [20, 11] as const;

/** The one sentence for a Node that is too old; undefined: it will do. */
export function tooOldNode(version = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return undefined;
  return `Ralph needs Node ${NEEDED.join('.')} or later, and this is Node ${version}: install a newer one from https://nodejs.org.`;
}
