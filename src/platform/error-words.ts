/** System errors, by their code and in words. */

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
