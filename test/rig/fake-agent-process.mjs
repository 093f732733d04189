// The body of a fake agent: tells the test what it was called with, then does what the test says, in order.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync, writeSync } from 'node:fs';
import { connect } from 'node:net';

const [, , socketPath, ...argv] = process.argv;
const input = process.env.FAKE_AGENT_SKIPS_STDIN ? '' : readFileSync(0, 'utf8');
const socket = connect(socketPath);
socket.setEncoding('utf8');
socket.write(`${JSON.stringify({ argv, input, cwd: process.cwd(), env: process.env, pid: process.pid })}\n`);

let buffer = '';
socket.on('data', chunk => {
  buffer += chunk;
  for (let end = buffer.indexOf('\n'); end !== -1; end = buffer.indexOf('\n')) {
    const order = JSON.parse(buffer.slice(0, end));
    buffer = buffer.slice(end + 1);
    const answer = obey(order);
    socket.write(`${JSON.stringify({ done: order.id, answer })}\n`);
  }
});
socket.on('error', () => process.exit(9));

function obey(order) {
  if (order.print !== undefined) return print(1, Buffer.from(order.print, 'base64'));
  if (order.printError !== undefined) return print(2, Buffer.from(order.printError));
  if (order.write !== undefined) return writeFileSync(order.write, order.content);
  if (order.shell !== undefined) return spawnSync('sh', ['-c', order.shell], { encoding: 'utf8' }).stdout;
  if (order.background !== undefined)
    return spawn('sh', ['-c', order.background], { stdio: order.stdio, detached: order.detached }).pid;
  if (order.ignore !== undefined) return process.on(order.ignore, () => {}) && undefined;
  if (order.exit !== undefined) return process.exit(order.exit);
}

function print(fd, bytes) {
  for (let rest = bytes; rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}
