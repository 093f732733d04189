/** Errors in words: those of the system by their code, those of programs by the line that names them. */

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

const ERROR_WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  EEXIST: 'there is something else of that name',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EMFILE: 'too many open files; allow more of them with `ulimit -n 4096`',
  ENFILE: 'too many open files on this machine',
  ENAMETOOLONG: 'the name is too long',
  E2BIG: 'the arguments are too long',
};

/** What an error says itself. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A system error in words a user can act on. */
export function errorWords(error: unknown): string {
  const code = errorCode(error);
  if (code !== undefined) return ERROR_WORDS[code] ?? code;
  return errorMessage(error);
}

/** A line that names an error: a word for it with a colon or in brackets behind it, or what shells and systems say. A warning is none. */
const NAMES_ERROR = new RegExp(
  [
    /^(?:\S+:? ){0,3}?\[?(?:fatal|error|err!|abort(?:ed)?|panic|exception|uncaught|[\w.]*(?:Error|Exception))\b(?:\[\w+\])?[\]:! ]/,
    /\b(?:cannot|could not|unable to|failed to)\b|\[(?:remote )?rejected\]/,
    /(?:\bnot found|No such file or directory|Permission denied|Operation not permitted)$/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);
const LOOKED_AT = 400;
const WARNS = /^.{0,40}\bwarn/i;

/** What went wrong, in what a program printed: most explain at length behind the first line that says so. Where none does, the last line. */
export function errorLine(output: string): string {
  const lines = output
    .replace(/\u001b\[[\d;]*[A-Za-z]/g, '')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
  return (
    lines.find(line => NAMES_ERROR.test(line.slice(0, LOOKED_AT)) && !WARNS.test(line)) ?? lines.at(-1) ?? ''
  );
}
