/** The file of a bundle: a DSSE envelope, plain JSON, read so strictly that there is one way to write each bundle. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { isObject, parseObject } from '../../domain/text/json.ts';
import { laterVersion, type Problem } from '../../domain/text/problem.ts';
import { errorWords } from '../../platform/error-words.ts';
import { sha256 } from '../../platform/hash.ts';
import { misfitOf, PAYLOAD_TYPE, type Statement, versionOf } from './format.ts';

/** A run of thirty thousand iterations fits. */
export const MOST_BYTES = 32 * 1024 * 1024;

export interface Signature {
  /** The fingerprint of the key: a hint, which must fit. */
  readonly keyid: string;
  /** SSHSIG, in base64. */
  readonly sig: string;
}

export interface Bundle {
  readonly payload: Buffer;
  readonly statement: Statement;
  readonly signature: Signature | undefined;
  /** The bytes are those that were written, as far as whoever changed them did not care for the digest. */
  readonly isWhole: boolean;
}

export function encodeBundle(payload: Buffer, signature: Signature | undefined): string {
  return `${JSON.stringify({
    payloadType: PAYLOAD_TYPE,
    payload: payload.toString('base64'),
    signatures: signature ? [signature] : [],
    digest: { sha256: sha256(payload) },
  })}\n`;
}

/** What is signed: DSSE's pre-authentication encoding. */
export function signedBytes(payload: Buffer): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(PAYLOAD_TYPE)} ${PAYLOAD_TYPE} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

export function readBundle(path: string): Bundle | Problem {
  const because = (what: string, fix?: string): Problem => ({ where: path, what, ...(fix && { fix }) });
  const bytes = readBounded(path);
  if (typeof bytes === 'string') return because(bytes);
  if (isCompressed(bytes))
    return because('is compressed: a bundle is one JSON file, and nothing is unpacked', 'unpack it yourself');
  const envelope = envelopeOf(bytes.toString('utf8'));
  if (typeof envelope === 'string') return because(envelope);
  const payload = Buffer.from(envelope.payload, 'base64');
  const text = payload.toString('utf8');
  const found = parseObject(text);
  const version = versionOf(found?.predicateType);
  if (version === undefined)
    return because('holds no proof of Ralph', '`ralph report --bundle FILE` writes one');
  if (version !== 1) return laterVersion(path, version, 1);
  const misfit = misfitOf(found) ?? (isPlain(text, found) ? undefined : 'is not written as Ralph writes it');
  if (misfit !== undefined) return because(`is no bundle that Ralph wrote: ${misfit}`);
  return {
    payload,
    statement: found as unknown as Statement,
    signature: envelope.signatures[0],
    isWhole: envelope.digest.sha256 === sha256(payload),
  };
}

/** A sentence where it cannot be. The size is known before anything is read, and more is not read. */
function readBounded(path: string): Buffer | string {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK); // a named pipe would never answer
    const stat = fstatSync(fd);
    if (stat.isDirectory()) return 'is a folder; name the file that `ralph report --bundle FILE` wrote';
    if (!stat.isFile()) return 'is not a file';
    if (stat.size > MOST_BYTES)
      return `is too large: ${Math.ceil(stat.size / 1024 / 1024)} MB, and a bundle has at most ${MOST_BYTES / 1024 / 1024}`;
    const bytes = Buffer.alloc(stat.size);
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0));
  } catch (error) {
    return `cannot be read: ${errorWords(error)}`;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** gzip, zip, xz, bzip2, zstd. */
const PACKED = ['1f8b', '504b0304', 'fd377a585a', '425a68', '28b52ffd'];

function isCompressed(bytes: Buffer): boolean {
  const start = bytes.subarray(0, 8).toString('hex');
  return PACKED.some(mark => start.startsWith(mark));
}

interface Envelope {
  readonly payload: string;
  readonly signatures: readonly Signature[];
  readonly digest: { readonly sha256: string };
}

function envelopeOf(text: string): Envelope | string {
  const found = parseObject(text);
  if (!found) return 'is not a bundle: it holds no JSON object';
  const { payloadType, payload, signatures, digest, ...rest } = found;
  if (typeof payload !== 'string' || typeof payloadType !== 'string')
    return 'is not a bundle: it is no DSSE envelope';
  if (payloadType !== PAYLOAD_TYPE) return `holds ${payloadType.slice(0, 80)}, and not ${PAYLOAD_TYPE}`;
  if (!isBase64(payload)) return 'has a payload that is not base64';
  if (!Array.isArray(signatures) || signatures.length > 1 || !signatures.every(isSignature))
    return 'must have one signature or none, with keyid and sig in base64';
  if (!isObject(digest) || typeof digest.sha256 !== 'string' || Object.keys(digest).length !== 1)
    return 'has no digest';
  const [strange] = Object.keys(rest);
  if (strange !== undefined) return `has a field that is not part of the format: ${strange.slice(0, 80)}`;
  if (!isPlain(text.replace(/\s+/g, ''), found))
    return 'has a field twice, or is not written as Ralph writes it';
  return { payload, signatures, digest: { sha256: digest.sha256 } };
}

function isSignature(value: unknown): value is Signature {
  return (
    isObject(value) &&
    Object.keys(value).length === 2 &&
    typeof value.keyid === 'string' &&
    typeof value.sig === 'string' &&
    isBase64(value.sig)
  );
}

/** With the padding that it needs, nothing that decoders skip, and no bits left over: there is one way to write each. */
function isBase64(text: string): boolean {
  if (text === '' || text.length % 4 !== 0 || text.includes('-') || text.includes('_')) return false;
  const end = text.slice(-4);
  const padding = end.endsWith('==') ? 2 : end.endsWith('=') ? 1 : 0;
  const isWhole = Buffer.from(text, 'base64').length === (text.length / 4) * 3 - padding;
  return isWhole && Buffer.from(end, 'base64').toString('base64') === end;
}

/** A field that is there twice, or a number in another form, would be one thing here and another thing elsewhere. */
function isPlain(text: string, found: unknown): boolean {
  try {
    return JSON.stringify(found) === text;
  } catch {
    return false; // nested deeper than anybody writes
  }
}
