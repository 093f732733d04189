/**
 * Opens the page in the user's browser. Everybody on a machine can read the command lines of all programs: so the address with its token is
 * in a file that only the user can read, and the browser is given that file.
 */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { writePrivate } from '../platform/files.ts';
import { openUrl } from '../platform/foreground.ts';
import { type Env, statePaths } from '../store/state.ts';

export interface OpenedPage {
  /** false: there is no program that opens it. */
  readonly isOpen: boolean;
  /** Once the browser has followed it. */
  remove(): void;
}

/** `url`: its characters mean nothing in HTML. */
export async function openPage(url: string, env: Env): Promise<OpenedPage> {
  const file = statePaths(env).page(randomBytes(9).toString('base64url'));
  writePrivate(
    file,
    `<!doctype html><meta http-equiv="refresh" content="0;url=${url}"><title>Ralph</title>\n`,
  );
  const remove = () => rmSync(file, { force: true });
  const isOpen = await openUrl(pathToFileURL(file).href, env);
  if (!isOpen) remove();
  return { isOpen, remove };
}
