/** Takes secrets out of a file that may be far larger than our memory. */
import { closeSync, openSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { createStreamRedactor, type Redact } from '../domain/text/secrets.ts';
import { createPrivate, tryTo } from './files.ts';

const PAGE = 1024 * 1024;

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
  const page = Buffer.allocUnsafe(PAGE);
  const from = openSync(path, 'r');
  try {
    for (let read = readSync(from, page); read > 0; read = readSync(from, page))
      if (scan.push(page.subarray(0, read), false)) return true;
    return scan.push(new Uint8Array(0), true);
  } finally {
    closeSync(from);
  }
}

/** Returns whether there was a secret. */
function copyClean(path: string, redact: Redact, write: (text: string) => void): boolean {
  const stream = createStreamRedactor(redact);
  const decoder = new StringDecoder('utf8');
  const page = Buffer.allocUnsafe(PAGE);
  const from = openSync(path, 'r');
  try {
    for (let read = readSync(from, page); read > 0; read = readSync(from, page))
      write(stream.push(decoder.write(page.subarray(0, read))));
    write(stream.push(decoder.end()) + stream.end());
  } finally {
    closeSync(from);
  }
  return stream.found();
}
