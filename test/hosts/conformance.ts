/** The same cases for every agent, each with the real CLI under the real `ralph`, on a model that follows a script. */
import { afterAll, describe, expect, test } from 'vitest';
import type { HostName } from '../rig/hosts/host.ts';
import type { Place } from '../rig/hosts/place.ts';
import { type HostSession, hostSession } from '../rig/hosts/session.ts';
import type { Script } from '../rig/model-server/answer.ts';
import { CASES, type Case, type Differs, type Seen } from './cases.ts';
import { endingCases } from './endings.ts';
import { expectOnPage } from './page.ts';
import { promptCase } from './prompt.ts';
import { subagentCases } from './subagent.ts';
import { troubleCases } from './trouble.ts';
import { workCases } from './work.ts';

/** What a group of cases needs to run. */
export interface Rig {
  readonly name: HostName;
  readonly differs: Differs;
  /** A fresh place and model; both go when the last case has ended. */
  open(script: Script | ((place: Place) => Script)): Promise<HostSession>;
  /** One test: what `observe` saw must be what is expected of this agent, word for word. */
  sees(key: Case, observe: () => Promise<string>): void;
}

/** `differs` says what this agent does otherwise than most, or cannot do: it must fail when that changes, too. */
export function conformance(name: HostName, differs: Differs = {}): void {
  const seen: Seen = {};
  const sessions: HostSession[] = [];
  const rig: Rig = {
    name,
    differs,
    async open(script) {
      const session = await hostSession(name, script);
      sessions.push(session);
      return session;
    },
    sees(key, observe) {
      const [title, usual] = CASES[key];
      test(title, async () => {
        const cell = await observe();
        seen[key] = cell;
        expect(cell).toBe(differs[key] ?? usual);
      });
    },
  };
  afterAll(() => Promise.all(sessions.map(session => session.close())));

  describe(name, () => {
    const turnTime = workCases(rig);
    subagentCases(rig);
    troubleCases(rig);
    endingCases(rig, turnTime);
    promptCase(rig);
    test('the table of agents says what was seen', () => expectOnPage(name, seen));
  });
}
