/** `ralph fleet up`: from nothing to a database that workers can use. */
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { databaseUrl, rememberedUrl, rememberUrl } from '../../../fleet/database-url.ts';
import {
  bringUp,
  prepare,
  type Ready,
  readRecord,
  type Up,
  urlOf,
  type Wishes,
} from '../../../fleet/server.ts';
import { statePaths } from '../../../store/state.ts';
import { answer, type Call, type CliCommand, orThrow, refuse, refuseInside } from '../../command.ts';

export const up: CliCommand = {
  declare: command =>
    command
      .option('--database <url>', 'use this PostgreSQL: bring its schema up to date, and remember it')
      .option('--listen <address>', 'let other machines connect, by this address of this one: 10.0.0.5/24')
      .option('--port <n>', 'the port of the server (default: a free one, kept)')
      .option('--data <folder>', "where the server's data goes (default: Ralph's state folder)")
      .option('--as <user>', 'as root: run the server as this user'),
  help: `
Examples:
  ralph fleet up
  ralph fleet up --listen 10.0.0.5/24
  ralph fleet up --database postgres://ralph@db.example/ralph?sslmode=verify-full

Can be repeated: what runs keeps running, and its data is kept. The server stays
until \`ralph fleet down\`. --listen lets every machine of that network try the
password, and nothing on the wire is encrypted: use it in a network you trust.
`,
  async run(call) {
    refuseInside('fleet up', call);
    const { env, cwd } = call;
    const url = existing(call);
    if (url !== undefined) {
      const ready = orThrow(await prepare(url, env));
      rememberUrl(url, env);
      answer(call.output, ready, () => `${schemaLine(ready)}\n\n${next(call, ready.database)}`);
      return 0;
    }
    const done = orThrow(await bringUp(wishesOf(call), env, cwd));
    const { database, schema, did, record } = done;
    const { folder, port, listen } = record;
    answer(call.output, { database, schema, did, folder, port, listen }, () => describe(call, done));
    return 0;
  },
};

/** A database that somebody else runs: one that was named, or the one that is remembered and not ours. */
function existing({ options, env }: Call): string | undefined {
  if (options.database !== undefined || env.RALPH_DATABASE_URL) {
    const useless = (['listen', 'port', 'data', 'as'] as const).find(each => options[each] !== undefined);
    if (useless) refuse(`--${useless}`, 'is for a server that Ralph starts, and a database was named');
    return orThrow(databaseUrl(options, env));
  }
  const record = readRecord(env);
  const kept = rememberedUrl(env);
  return record || Object.keys(wishes(options)).length > 0 ? undefined : kept;
}

function wishes(options: Call['options']) {
  const named = ['listen', 'port', 'data', 'as'].filter(each => typeof options[each] === 'string');
  return Object.fromEntries(named.map(each => [each, String(options[each])]));
}

function wishesOf({ options, cwd }: Call): Wishes {
  const { listen, port, data, as } = wishes(options);
  if (port !== undefined && !(/^\d+$/.test(port) && Number(port) > 0 && Number(port) < 65_536))
    refuse(`--port ${port}`, 'must be a number from 1 to 65535');
  const [address = '', bits] = listen?.split('/') ?? [];
  const most = isIP(address) === 6 ? 128 : 32;
  if (
    listen !== undefined &&
    (!isIP(address) || (bits !== undefined && !(/^\d+$/.test(bits) && Number(bits) <= most)))
  )
    refuse(
      `--listen ${listen}`,
      'must be an address of this machine',
      '10.0.0.5, or 10.0.0.5/24 with its network',
    );
  return {
    listen,
    as,
    port: port === undefined ? undefined : Number(port),
    data: data && resolve(cwd, data),
  };
}

const DID = {
  created: 'Created and started a PostgreSQL',
  started: 'Started the PostgreSQL',
  restarted: 'Restarted the PostgreSQL with its new settings',
  nothing: 'The PostgreSQL is running',
} as const;

function describe(call: Call, { did, record, ...ready }: Up): string {
  const opened = record.listen
    ? `
Open to ${record.listen.includes('/') ? `the network of ${record.listen}` : 'the networks of this machine'}. Whoever there has the password can submit work, and so run
commands on every worker. Nothing on the wire is encrypted: use a VPN, or a
PostgreSQL with TLS and --database, where that matters.
`
    : '';
  return `${DID[did]} in ${record.folder}. It stays until \`ralph fleet down\`.
${schemaLine(ready)}
${opened}
${next(call, ready.database)}`;
}

function schemaLine({ database, schema }: Ready): string {
  const was = schema.from === schema.to ? '' : ` (was ${schema.from})`;
  return `Database: ${database}\nSchema:   version ${schema.to}${was}`;
}

function next({ env }: Call, database: string): string {
  const file = statePaths(env).fleet.database;
  const record = readRecord(env);
  const isLocal =
    record !== undefined && /@127\.0\.0\.1:/.test(urlOf(record)) && database.includes('@127.0.0.1:');
  const reach = !isLocal
    ? ''
    : record.listen
      ? ', with the address of this machine for 127.0.0.1'
      : ', after `ralph fleet up --listen ADDRESS` here';
  return `The URL with its password is in ${file}, which only you can read.

Next:
  a worker on this machine   ralph worker
  on another machine         RALPH_DATABASE_URL=… ralph worker   (the URL from that file${reach})`;
}
