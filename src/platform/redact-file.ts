/** Takes secrets out of a file that may be far larger than our memory. */
import { closeSync, constants, fstatSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { createStreamRedactor, type Redact } from '../domain/text/secrets.ts';
import { createPrivate, openOwn, tryTo } from './files.ts';

const PAGE = 256 * 1024;

/**
 * A file without a secret is only read. One that cannot be rewritten stays as it is: it is the user's alone, and whoever shows it takes the
 * secrets out of what is shown.
 */
export function redactFile(path: string, redact: Redact): void {
  tryTo(() => {
    if (!mayHoldSecret(path, redact) || !copyClean(path, redact, () => {})) return;
    const next = `${path}.clean`;
    rmSync(next, { force: true });
    const to = createPrivate(next);
    try {
      copyClean(path, redact, text => writeFileSync(to, text));
    } finally {
      closeSync(to);
    }
    renameSync(next, path);
  });
}

function mayHoldSecret(path: string, redact: Redact): boolean {
  const scan = redact.scan();
  for (const page of pagesOf(path)) if (scan.push(page, false)) return true;
  return scan.push(new Uint8Array(0), true);
}

/** Returns whether there was a secret. */
function copyClean(path: string, redact: Redact, write: (text: string) => void): boolean {
  const stream = createStreamRedactor(redact);
  const decoder = new StringDecoder('utf8');
  for (const page of pagesOf(path)) write(stream.push(decoder.write(page)));
  write(stream.push(decoder.end()) + stream.end());
  return stream.found();
}

/** In one buffer, no larger than the file: a large one for each small file makes V8 collect garbage all the time. */
function* pagesOf(path: string): Generator<Buffer> {
  const from = openOwn(path, constants.O_RDONLY);
  try {
    const page = Buffer.allocUnsafe(Math.min(PAGE, Math.max(1, fstatSync(from).size)));
    for (let read = readSync(from, page); read > 0; read = readSync(from, page)) yield page.subarray(0, read);
  } finally {
    closeSync(from);
  }
}
