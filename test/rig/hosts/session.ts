/** Everything for one case with a real agent: a fresh place, a scripted model, and the agent set up to talk to it. */
import type { Script } from '../model-server/answer.ts';
import { type ModelServer, startModelServer } from '../model-server/server.ts';
import { type Host, type HostName, hostPath, type Setup } from './host.ts';
import { makePlace, type Place } from './place.ts';
import { type RunResult, runHost } from './run.ts';
import { HOSTS } from './table.ts';

export interface HostSession extends Setup {
  readonly host: Host;
  readonly place: Place;
  readonly server: ModelServer;
  /** One turn of the agent itself, without Ralph; the signal ends its process group. */
  run(prompt: string, signal?: AbortSignal): Promise<RunResult>;
  close(): Promise<void>;
}

/** `script` may need to know where the repository is, to write into it by absolute path. */
export async function hostSession(
  name: HostName,
  script: Script | ((place: Place) => Script),
): Promise<HostSession> {
  const host = HOSTS[name];
  const place = await makePlace(hostPath(name));
  const played = typeof script === 'function' ? script(place) : script;
  const server = await startModelServer({ ...host.server, ...played });
  const { env, flags } = await host.setUp(place, server.url);
  return {
    host,
    place,
    server,
    env,
    flags,
    run: (prompt, signal) =>
      runHost(host.argv(place, flags), {
        place,
        env,
        stdin: prompt,
        ...(signal === undefined ? {} : { signal }),
      }),
    async close() {
      await server.close();
      await place.remove();
    },
  };
}
