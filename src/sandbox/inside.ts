/**
 * The first program in a container that may only reach the hosts on a list: `node inside.cjs SOCKET COMMAND…`. It offers the
 * proxy behind the socket on loopback, starts the command, passes signals on, and ends with the command's exit code.
 */
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';

const PORT = 3128;
const [socket = '', command = '', ...args] = process.argv.slice(2);

const server = createServer(client => {
  const door = connect(socket);
  for (const side of [client, door]) side.on('error', () => {});
  client.on('close', () => door.destroy());
  door.on('close', () => client.destroy());
  client.pipe(door).pipe(client);
});

server.listen(PORT, '127.0.0.1', () => {
  const proxy = `http://127.0.0.1:${PORT}`;
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
  const env = { ...process.env, ...Object.fromEntries(names.map(name => [name, proxy])) };
  const child = spawn(command, args, { stdio: 'inherit', env });
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => void child.kill(name));
  child.on('error', () => process.exit(127));
  child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : (code ?? 0)));
});
