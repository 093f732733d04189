/** The sandbox of agent and checks, and which environment variables they see. */
import { amount, choice, integer, list, object, text } from '../kinds.ts';
import { both, type Setting } from '../setting.ts';

const PROVIDERS = ['auto', 'any', 'none', 'srt', 'container', 'sbx'] as const;

const limits = object({
  memory: { kind: text(), help: 'In the format of the engine: 2g. Container only.' },
  cpus: { kind: amount({ min: 0.01 }), help: 'How many processors. Container only.' },
  pids: { kind: integer({ min: 1 }), help: 'How many processes. Container only.' },
});

const secret = object({
  env: { kind: text(), required: true, help: 'A variable whose value is hidden from the sandbox. srt only.' },
  hosts: { kind: list(text()), required: true, help: 'Requests to these hosts carry the real value.' },
});

const fields = object({
  provider: {
    kind: choice(PROVIDERS),
    help: 'auto: the strongest that works here, or none with a warning. any: the strongest that works here, or an error.',
  },
  network: {
    kind: choice(['none', 'allowlist', 'open']),
    help: 'allowlist: the hosts of the agent’s model and those of allowDomains.',
  },
  allowDomains: { kind: list(text()), help: 'Further hosts: example.org, *.example.org, 127.0.0.1:8080.' },
  writable: { kind: list(text()), help: 'Further folders that may be written. ~ is the home folder.' },
  denyRead: {
    kind: list(text()),
    help: 'Further files and folders that may not be read: **/.env, ~/.config/x.',
  },
  secrets: { kind: list(secret), help: 'Variables whose values only the proxy knows.' },
  limits: { kind: limits, help: 'Limits on memory, processors and processes.' },
  image: { kind: text(), help: 'The image of the container sandbox; the agent must be in it.' },
  engine: {
    kind: text(),
    help: 'docker, podman, or a command line that begins with one. Default: the first that works.',
  },
  engineArgs: { kind: list(text()), help: 'Further flags for its run command.' },
});

/** `--sandbox srt` is the provider; `--sandbox` alone means that there must be one. */
const sandbox: typeof fields = {
  ...fields,
  parse: given => ({ provider: given }),
  switched: on => ({ provider: on ? 'any' : 'none' }),
};

const DEFAULT = {
  provider: 'none',
  network: 'allowlist',
  allowDomains: [],
  writable: [],
  denyRead: [],
  secrets: [],
  limits: {},
} as const;

export const SANDBOX = [
  {
    key: 'sandbox',
    kind: sandbox,
    default: DEFAULT,
    flag: both('--[no-]sandbox [auto|srt|container|sbx]'),
    help: 'Run agent and checks in a sandbox. Without a name: the strongest that works here, or an error.',
  },
  {
    key: 'containment',
    kind: choice(['auto', 'off']),
    default: 'auto',
    flag: both('--containment <auto|off>'),
    help: 'Without a sandbox: run each turn and each check in a PID namespace where this machine can, so that nothing outlives it.',
  },
  {
    key: 'hideEnv',
    kind: list(text()),
    default: [],
    flag: both('--hide-env <name>…'),
    help: 'Environment variables to hide from agent and checks, such as AWS_*. A sandbox hides everything that looks like a secret.',
  },
  {
    key: 'keepEnv',
    kind: list(text()),
    default: [],
    help: 'Environment variables to keep in a sandbox although they look like secrets.',
  },
] as const satisfies readonly Setting[];
