import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ask, BASH, CLIENTS, hear } from './model-server/clients.ts';
import type { ProtocolName } from './model-server/protocol.ts';
import type { Step } from './model-server/script.ts';
import { type ModelServer, type ModelServerOptions, startModelServer } from './model-server/server.ts';

const PROTOCOLS = Object.keys(CLIENTS) as readonly ProtocolName[];
const BOTH = PROTOCOLS.flatMap(protocol => [true, false].map(stream => ({ protocol, stream })));
const TOKENS = [1000, 0, 20];

async function server(options: ModelServerOptions): Promise<ModelServer> {
  const started = await startModelServer(options);
  onTestFinished(() => started.close());
  return started;
}

describe.each(BOTH)('$protocol, streamed: $stream', ({ protocol, stream }) => {
  test('says the text, the reasoning and the tokens of a step', async () => {
    const text = 'A “quoted” answer 🙂\u2028 with\nlines.';
    const usage = { input: 500, output: 40, cached: 300, reasoning: 10 };
    const { url } = await server({ steps: [{ text, reasoning: 'Let me think.', usage }] });
    const heard = await hear(await ask(url, protocol, stream), protocol);
    expect(heard).toEqual({ text, reasoning: 'Let me think.', calls: [], tokens: [500, 300, 40] });
  });

  test('asks for a command with the tool that the client offers', async () => {
    const { url } = await server({
      steps: [{ text: 'First.', tools: [{ do: 'shell', command: 'echo "$HOME"' }] }],
    });
    const heard = await hear(await ask(url, protocol, stream), protocol);
    const input = { command: 'echo "$HOME"', description: 'scripted' };
    expect(heard).toEqual({
      text: 'First.',
      reasoning: '',
      calls: [{ name: 'bash', input }],
      tokens: TOKENS,
    });
  });

  test('records what was asked', async () => {
    const { url, requests } = await server({ steps: [{ text: 'Hello.' }] });
    await (await ask(url, protocol, stream, 'First `id`.')).text();
    const { n, kind, step, model, system, userTexts, lastUserText, toolNames, body } = requests[0]!;
    expect({ n, kind, step, protocol: requests[0]?.protocol, stream: requests[0]?.stream }).toEqual({
      n: 1,
      kind: 'step',
      step: 0,
      protocol,
      stream,
    });
    expect({ model, system, userTexts, lastUserText, toolNames }).toEqual({
      model: 'some-model',
      system: 'Be good.',
      userTexts: ['First `id`.'],
      lastUserText: 'First `id`.',
      toolNames: ['bash'],
    });
    expect(body).toContain('First `id`.');
    expect(await requests[0]?.ended).toBe('answered');
  });

  test('answers a request without tools aside and keeps the step', async () => {
    const { url, requests } = await server({ steps: [{ text: 'The step.' }], side: { text: 'A title.' } });
    const side = await hear(await ask(url, protocol, stream, 'Title?', []), protocol);
    const main = await hear(await ask(url, protocol, stream), protocol);
    expect([side.text, main.text, ...requests.map(request => request.kind)]).toEqual([
      'A title.',
      'The step.',
      'side',
      'step',
    ]);
  });

  test('says so when the script is used up', async () => {
    const { url, requests, problems } = await server({ steps: [] });
    const heard = await hear(await ask(url, protocol, stream), protocol);
    expect({ text: heard.text, kind: requests[0]?.kind, problems }).toEqual({
      text: 'The script has no more steps.',
      kind: 'used-up',
      problems: [],
    });
  });

  test('cuts the answer where the script says', async () => {
    const { url, requests } = await server({ steps: [{ text: 'Long enough.', cut: { bytes: 30 } }] });
    const response = await ask(url, protocol, stream);
    await expect(response.text()).rejects.toThrow();
    expect(await requests[0]?.ended).toBe('cut');
  });
});

describe.each(PROTOCOLS)('%s', protocol => {
  test('shows an error with its status, headers and words as often as the script says', async () => {
    const failing: Step = { status: 429, error: 'Slow down.', headers: { 'retry-after': '7' }, repeat: 2 };
    const { url } = await server({ steps: [failing, { text: 'Recovered.' }] });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const response = await ask(url, protocol, true);
      expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7']);
      expect(await response.json()).toMatchObject({ error: { message: 'Slow down.' } });
    }
    expect((await hear(await ask(url, protocol, true), protocol)).text).toBe('Recovered.');
  });

  test.each(['{"half":', '[]', '"text"', '{}', ''])(
    'refuses the malformed body %j with a sentence',
    async body => {
      const { url, requests, problems } = await server({ steps: [{ text: 'Still there.' }] });
      const response = await fetch(url + CLIENTS[protocol].path(false), { method: 'POST', body });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { message: expect.stringMatching(/\w+ \w+/) } });
      expect([requests[0]?.kind, problems.length]).toEqual(['refused', 1]);
      expect((await hear(await ask(url, protocol, false), protocol)).text).toBe('Still there.');
    },
  );
});

test('a gate holds the answer until it is released, and only that one', async () => {
  const { url, request, release } = await server({
    steps: [{ text: 'Through.', gate: 'later' }, { text: 'Second.' }],
  });
  const order: string[] = [];
  const held = ask(url, 'chat', true).then(async response => order.push((await hear(response, 'chat')).text));
  await request(1);
  order.push((await hear(await ask(url, 'chat', true), 'chat')).text);
  release('later');
  await held;
  expect(order).toEqual(['Second.', 'Through.']);
});

test('a gate that was released early does not hold', async () => {
  const { url, release } = await server({ steps: [{ text: 'Through.', gate: 'early' }] });
  release('early');
  expect((await hear(await ask(url, 'chat', true), 'chat')).text).toBe('Through.');
});

test.each([true, { events: 2 }, { bytes: 10 }] as const)(
  'a step that hangs (%j) lasts until the client leaves',
  async hang => {
    const { url, request } = await server({ steps: [{ text: 'Never whole.', hang }] });
    const client = new AbortController();
    const init = {
      method: 'POST',
      body: JSON.stringify(CLIENTS.chat.body('Go.', true, [CLIENTS.chat.tool('bash', {})])),
    };
    const asked = fetch(`${url}/v1/chat/completions`, { ...init, signal: client.signal }).then(response =>
      response.text(),
    );
    const recorded = await request(1);
    client.abort();
    await expect(asked).rejects.toThrow();
    expect(await recorded.ended).toBe('gone');
  },
);

test('a stream cut by events ends after exactly those', async () => {
  const { url } = await server({ steps: [{ text: 'abc', cut: { events: 3 } }] });
  const reader = (await ask(url, 'messages', true)).body!.getReader();
  let got = '';
  await expect(
    (async () => {
      for (let part = await reader.read(); !part.done; part = await reader.read())
        got += new TextDecoder().decode(part.value);
    })(),
  ).rejects.toThrow();
  expect(got.match(/^event: .*/gm)).toEqual([
    'event: message_start',
    'event: content_block_start',
    'event: content_block_delta',
  ]);
});

test('a rule answers a side request that offers tools', async () => {
  const { url, requests } = await server({
    steps: [{ text: 'The step.' }],
    sides: [{ match: asked => asked.toolNames.includes('set_title'), step: { text: 'A title.' } }],
  });
  const titled = await hear(
    await ask(url, 'messages', false, 'Title?', [{ ...BASH, name: 'set_title' }]),
    'messages',
  );
  const main = await hear(await ask(url, 'messages', false), 'messages');
  expect([titled.text, main.text, ...requests.map(request => request.kind)]).toEqual([
    'A title.',
    'The step.',
    'side',
    'step',
  ]);
});

test('waits for the n-th request of a kind, and fails when the server closes before it', async () => {
  const { url, request, close } = await server({ steps: [{ text: 'One.' }, { text: 'Two.' }] });
  const second = request(2, 'step');
  const third = request(3);
  await (await ask(url, 'gemini', true, 'a')).text();
  await (await ask(url, 'gemini', true, 'b')).text();
  expect((await second).lastUserText).toBe('b');
  await close();
  await expect(third).rejects.toThrow('closed before any request 3 came (2 in all)');
  await expect(request(9)).rejects.toThrow('closed');
});

test.each([
  [{ txet: 'typo' }, 'step 0 of the script has an unknown field "txet"'],
  [{ text: 7 }, 'step 0 of the script: "text" must be text'],
  [
    { tools: [{ do: 'dance' }] },
    'step 0 of the script: "tools" must be a list of {do: shell | write} or {name, input}',
  ],
  [{ status: 200 }, 'step 0 of the script: "status" must be an error status, 400 to 599'],
  [
    { status: 500, headers: { 'bad name': 'x' } },
    'step 0 of the script: "headers" must be an object of valid headers',
  ],
  [{ headers: { a: 'line\nline' } }, 'step 0 of the script: "headers" must be an object of valid headers'],
  [{ repeat: 0 }, `step 0 of the script: "repeat" must be a count or 'forever'`],
  [null, 'step 0 of the script must be an object'],
])('a bad step %j is a problem from the start and a 400 when it is reached', async (step, sentence) => {
  const { url, requests, problems } = await server({ steps: [step as unknown as Step, { text: 'Next.' }] });
  expect(problems).toEqual([sentence]);
  const response = await ask(url, 'responses', true);
  expect([response.status, await response.json()]).toEqual([
    400,
    expect.objectContaining({ error: expect.objectContaining({ message: sentence }) }),
  ]);
  expect(requests[0]?.kind).toBe('refused');
  expect((await hear(await ask(url, 'responses', true), 'responses')).text).toBe('Next.');
});

test('a script without steps and a side rule that throws are answered, not fatal', async () => {
  const none = await server({ steps: undefined as unknown as Step[] });
  const throwing = await server({ steps: [], sides: [{ match: () => JSON.parse('{'), step: {} }] });
  expect(none.problems).toEqual(['the script has no list of steps']);
  expect([
    (await ask(none.url, 'chat', true)).status,
    (await ask(throwing.url, 'chat', true)).status,
  ]).toEqual([400, 400]);
});

test('a client that offers no fitting tool is told so', async () => {
  const { url, problems } = await server({ steps: [{ tools: [{ do: 'shell', command: 'id' }] }] });
  const response = await ask(url, 'chat', true, 'Go.', [
    { name: 'read', schema: { properties: {}, required: [] } },
  ]);
  expect(response.status).toBe(400);
  expect(problems).toEqual(['request 1: the client offers no tool for "do: shell"; it offers: read']);
});

test('other paths are recorded, answered by `also` or 404', async () => {
  const { url, strays, requests } = await server({
    steps: [],
    also: ({ path }) => (path === '/api/me' ? { id: 1 } : undefined),
  });
  const me = await fetch(`${url}/api/me`);
  const models = await fetch(`${url}/v1/models?page=2`);
  expect([me.status, await me.json(), models.status]).toEqual([200, { id: 1 }, 404]);
  expect(strays.map(({ method, path, url: { search } }) => method + path + search)).toEqual([
    'GET/api/me',
    'GET/v1/models?page=2',
  ]);
  expect(requests).toEqual([]);
});

test('bytes that are no HTTP, and a client that leaves mid-request, leave the server alive', async () => {
  const { url, port } = await server({ steps: [{ text: 'Alive.' }] });
  const half = 'POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: 99\r\n\r\nhalf';
  for (const bytes of ['\x00\x01garbage\r\n\r\n', half]) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(bytes, () => socket.destroy());
    await once(socket, 'close');
  }
  expect((await hear(await ask(url, 'messages', true), 'messages')).text).toBe('Alive.');
});
