/** What can be wrong with a database, in words, by the code of the error or, where it has none, by its text. */
import type { Problem } from '../domain/text/problem.ts';
import { errorCode } from '../platform/error-words.ts';
import { passwordsOf, showUrl } from './database-url.ts';

interface Row {
  /** SQLSTATE, a code of Node's, or words of the message. */
  readonly sign: RegExp;
  readonly what: string;
  readonly fix: string;
}

/** The first that fits counts: a refusal for want of TLS has the code of a wrong user. */
const ROWS: readonly Row[] = [
  {
    sign: /no encryption$/,
    what: 'the server accepts this user only over TLS',
    fix: 'add ?sslmode=verify-full to the URL',
  },
  {
    sign: /server does not support SSL/,
    what: 'the URL asks for TLS, and the server does not offer it',
    fix: 'turn TLS on in the server, or use ?sslmode=disable in a network that you trust',
  },
  {
    sign: /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_\w+|ERR_TLS_\w+|ERR_SSL_\w+|EPROTO)$|establishing an SSL connection/,
    what: "the server's TLS certificate is not trusted",
    fix: 'name the root certificate with ?sslrootcert=FILE or PGSSLROOTCERT, and the host as the certificate does',
  },
  {
    sign: /^(ENOENT|EACCES|EISDIR): .*(open|read)/,
    what: 'a certificate that the URL or the environment names cannot be read',
    fix: 'check sslrootcert, sslcert and sslkey',
  },
  {
    sign: /^28P01$|SASL|password must be a string|password authentication failed/,
    what: 'the server refuses the password, or none was given',
    fix: 'check the user and the password in the URL, or PGPASSWORD, or ~/.pgpass',
  },
  {
    sign: /^28000$/,
    what: 'the server refuses the user: there is no such role, or it may not connect from this machine',
    fix: 'check the user in the URL, and pg_hba.conf of the server',
  },
  {
    sign: /^3D000$/,
    what: 'the server has no database of that name',
    fix: 'create it with `createdb`, or check the end of the URL',
  },
  {
    sign: /^42501$/,
    what: 'the role may not do this in the database',
    fix: 'let the owner of the database run `ralph fleet up --database URL`, or grant the role CREATE on the database',
  },
  { sign: /^53100$/, what: "the server's disk is full", fix: 'free some space there, then try again' },
  {
    sign: /^25006$/,
    what: 'the server is read-only',
    fix: 'name the primary server, not a copy of it, and check default_transaction_read_only',
  },
  {
    sign: /^53300$/,
    what: 'the server has no connection left',
    fix: 'raise max_connections there, or start fewer workers',
  },
  {
    sign: /^57014$/,
    what: 'the server took too long for a statement, and was told to stop',
    fix: 'look for what holds it up: pg_stat_activity shows who waits for whom',
  },
  {
    sign: /^(57P0[123]|08\w{3}|ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOENT)$|Connection terminated|connection timeout|timeout exceeded|Query read timeout|Client has encountered a connection error/,
    what: 'the server cannot be reached',
    fix: 'check the host and the port, and that it runs; the one of `ralph fleet up` is started by the same command',
  },
];

/** A sentence for a failure of the database that the user can fix; undefined for any other: that is a bug of ours. */
export function databaseProblem(error: unknown, url: string): Problem | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = errorCode(error) ?? '';
  const row = ROWS.find(({ sign }) => sign.test(code) || sign.test(error.message));
  if (!row) return undefined;
  const said = withoutPasswords(error.message || code, url);
  return { where: showUrl(url), what: `${row.what}: ${said}`, fix: row.fix };
}

export function withoutPasswords(text: string, url: string): string {
  return passwordsOf(url).reduce((rest, password) => rest.replaceAll(password, '***'), text);
}
