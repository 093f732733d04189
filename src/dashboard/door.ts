/**
 * Who may come in. The dashboard can end runs and shows what agents wrote, and every page that a browser has open can
 * send requests to loopback: so a request needs the token, our own name as its Host, and no other page as its Origin.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface Knock {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly contentType: string | undefined;
  /** From the header, else from the address. */
  readonly token: string | undefined;
}

export interface House {
  readonly token: string;
  /** Host names with the port, as a browser sends them. */
  readonly hosts: readonly string[];
}

export interface Refusal {
  readonly status: 401 | 403 | 405 | 415;
  readonly why: string;
}

/** undefined: come in. */
export function refusal(knock: Knock, house: House): Refusal | undefined {
  const { method, host, origin, contentType, token } = knock;
  // A name that somebody else's DNS leads here is not ours.
  if (host === undefined || !house.hosts.includes(host.toLowerCase()))
    return { status: 403, why: 'not a name of this dashboard' };
  if (origin !== undefined && !house.hosts.some(name => origin === `http://${name}`))
    return { status: 403, why: 'asked for by another page' };
  if (token === undefined || !isSame(token, house.token))
    return {
      status: 401,
      why: 'the token is missing or wrong: use the address that `ralph dashboard` printed',
    };
  if (method === 'GET') return undefined;
  if (method !== 'POST') return { status: 405, why: 'only GET and POST' };
  if (origin === undefined) return { status: 403, why: 'an order needs an Origin' };
  // A form cannot send JSON without being asked first whether it may.
  if (contentType?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    return { status: 415, why: 'an order is JSON' };
  return undefined;
}

/** Takes the same time wherever the two differ. */
function isSame(given: string, wanted: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(wanted));
}
