/** A sub-agent says the tag; the agent itself does not. */
import { expect } from 'vitest';
import type { HostName } from '../rig/hosts/host.ts';
import { startLoop } from '../rig/hosts/loop.ts';
import type { HostSession } from '../rig/hosts/session.ts';
import { HOSTS } from '../rig/hosts/table.ts';
import type { Script } from '../rig/model-server/answer.ts';
import type { ModelRequest } from '../rig/model-server/record.ts';
import { DEFAULT_USAGE, type ToolUse } from '../rig/model-server/script.ts';
import type { Rig } from './conformance.ts';

/** The gate before the agent's second answer. */
export const HELPER_ASKED = 'the helper was asked';
const TASK = 'The task of the helper.';
const WORDS = 'The helper says <response>donE</response> and <promise>DONE</promise>';

export function subagentCases(rig: Rig): void {
  const host = HOSTS[rig.name];
  let tokens: 'reported' | 'not reported' | 'not counted' | 'has none' = 'has none';

  rig.sees('tagInSubagent', async () => {
    const session = await rig.open({ steps: [{ text: 'There is no helper.' }] });
    const start = host.subagent?.(TASK, session.server.url);
    if (start === undefined) return withoutHelper(session);
    await session.close();
    const helped = await rig.open(helperScript(rig.name, start.use));
    const flags = host.subagent?.(TASK, helped.server.url).flags;
    const loop = startLoop(helped, { args: ['-m', '1'], ...(flags && { flags }) });
    await Promise.race([helperAsked(helped), loop.finished]);
    helped.server.release(HELPER_ASKED);
    const { result, raw } = await loop.finished;
    const input = result.iterations[0]?.tokens?.input;
    const own = helped.server.requests.filter(({ kind }) => kind === 'step').length * DEFAULT_USAGE.input;
    tokens = input === undefined ? 'not reported' : input > own ? 'reported' : 'not counted';
    expect([helped.server.problems, helped.server.requests.filter(isHelper).length]).toEqual([[], 1]);
    expect([result.stopReason, result.iterations[0]?.completionTagFound]).toEqual(['max_iterations', false]);
    return raw[0]?.includes('donE') ? 'never done' : 'not shown';
  });

  rig.sees('subagentTokens', async () => tokens);
}

/** The agent's second answer waits for the helper, also where the two work at the same time. */
export function helperScript(name: HostName, use: ToolUse): Script {
  const finish: ToolUse = { name: 'complete_task', input: { result: { response: WORDS } } };
  return {
    steps: [
      { text: 'I ask a helper.', tools: [use] },
      { text: 'The helper was asked.', gate: HELPER_ASKED, repeat: 'forever' },
    ],
    sides: [
      ...(HOSTS[name].server?.sides ?? []),
      // Gemini's helpers hand in their words with a tool.
      {
        match: request => isHelper(request) && request.toolNames.includes(finish.name),
        step: { tools: [finish] },
      },
      { match: isHelper, step: { text: WORDS } },
    ],
  };
}

function isHelper({ system, userTexts }: Pick<ModelRequest, 'system' | 'userTexts'>): boolean {
  return [system, ...userTexts].some(text => text.includes(TASK));
}

async function helperAsked({ server }: HostSession): Promise<void> {
  for (let n = 1; ; n++) if (isHelper(await server.request(n))) return;
}

async function withoutHelper(session: HostSession): Promise<string> {
  await startLoop(session, { args: ['-m', '1'] }).finished;
  const offered = session.server.requests.flatMap(request => request.toolNames);
  expect(offered.filter(name => /agent|task/i.test(name))).toEqual([]);
  return 'has none';
}
