/** What agent and checks run in, and what of the user's environment they see. */
import { amount, choice, type Field, integer, type Kind, list, object, text } from '../kinds.ts';
import { both, type Setting } from '../setting.ts';
import type { SandboxSettings } from '../settings-shape.ts';

const PROVIDERS = ['auto', 'any', 'none', 'srt', 'container', 'sbx'];

const limits = object({
  memory: { kind: text(), help: 'As the engine takes it: 2g. Container only.' },
  cpus: { kind: amount({ min: 0.01 }), help: 'Container only.' },
  pids: { kind: integer({ min: 1 }), help: 'How many processes. Container only.' },
});

const secret = object({
  env: { kind: text(), required: true, help: 'The variable whose value is kept from the inside. srt only.' },
  hosts: { kind: list(text()), required: true, help: 'Requests to these carry the real value.' },
});

const FIELDS: Readonly<Record<keyof SandboxSettings, Field>> = {
  provider: {
    kind: choice(PROVIDERS),
    help: 'auto: the best that works here, or none with a warning. any: the best, or an error.',
  },
  network: {
    kind: choice(['none', 'allowlist', 'open']),
    help: 'allowlist: the hosts of the agent’s model and those of allowDomains.',
  },
  allowDomains: { kind: list(text()), help: 'Hosts more: example.org, *.example.org, 127.0.0.1:8080.' },
  writable: { kind: list(text()), help: 'Folders more that may be written. ~ is the home.' },
  denyRead: {
    kind: list(text()),
    help: 'Files and folders more that may not be read: **/.env, ~/.config/x.',
  },
  secrets: { kind: list(secret), help: 'Variables that only the proxy knows.' },
  limits: { kind: limits, help: 'How much of the machine it may take.' },
  image: { kind: text(), help: 'The image of the container sandbox; the agent must be in it.' },
  engine: {
    kind: text(),
    help: 'docker, podman, or a command line that begins with one. Default: the first that works.',
  },
  engineArgs: { kind: list(text()), help: 'Flags more for its run.' },
};

/** `--sandbox srt` is the provider; `--sandbox` alone means that there must be one. */
const sandbox: Kind = {
  ...object(FIELDS),
  parse: given => ({ provider: given }),
  switched: on => ({ provider: on ? 'any' : 'none' }),
};

const DEFAULT: SandboxSettings = {
  provider: 'none',
  network: 'allowlist',
  allowDomains: [],
  writable: [],
  denyRead: [],
  secrets: [],
  limits: {},
};

export const SANDBOX: readonly Setting[] = [
  {
    key: 'sandbox',
    kind: sandbox,
    default: DEFAULT,
    flag: both('--[no-]sandbox [auto|srt|container|sbx]'),
    help: 'Run agent and checks in a sandbox. Without a name: any that works here, and none is an error.',
  },
  {
    key: 'hideEnv',
    kind: list(text()),
    default: [],
    flag: both('--hide-env <name>…'),
    help: 'Variables that agent and checks do not get: AWS_*. In a sandbox whatever looks like a secret is hidden anyway.',
  },
  {
    key: 'keepEnv',
    kind: list(text()),
    default: [],
    help: 'Variables that agent and checks get in a sandbox although they look like secrets.',
  },
];
