/**
 * Who has access. The dashboard can cancel runs and shows what agents wrote, and every page that a browser has open can
 * send requests to loopback: so a request needs the token, our own name as its Host, and no other page as its Origin.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface Credentials {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly contentType: string | undefined;
  /** From the header, else from the address. */
  readonly token: string | undefined;
}

export interface Access {
  readonly token: string;
  /** Host names with the port, as a browser sends them. */
  readonly hosts: readonly string[];
}

/** undefined: access is granted. */
export function refusal(credentials: Credentials, access: Access) {
  const { method, host, origin, contentType, token } = credentials;
  // A foreign name that DNS resolves to this machine is not ours.
  if (host === undefined || !access.hosts.includes(host.toLowerCase()))
    return { status: 403, why: 'unknown host name: use the address that `ralph dashboard` printed' };
  if (origin !== undefined && !access.hosts.some(name => origin === `http://${name}`))
    return { status: 403, why: 'requests from other pages are refused' };
  if (token === undefined || !isSame(token, access.token))
    return {
      status: 401,
      why: 'the token is missing or wrong: use the address that `ralph dashboard` printed',
    };
  if (method === 'GET') return undefined;
  if (method !== 'POST') return { status: 405, why: 'only GET and POST are allowed' };
  if (origin === undefined) return { status: 403, why: 'a POST request needs an Origin header' };
  // A form cannot send JSON without being asked first whether it may.
  if (contentType?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    return { status: 415, why: 'the body must be JSON (content-type: application/json)' };
  return undefined;
}

/** Takes the same time wherever the two differ. */
function isSame(given: string, wanted: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(wanted));
}
