/**
 * Attacks by an agent that cheats, tried with the real binary. Each says at which level it is held, and is tried at every level that works
 * on this machine: what is said to be held must be, and what is said not to be held must not be, so that the table in docs/reference/cheats.md
 * (written from these rows by `npm run generate`) is neither too proud nor too modest.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findContainment } from '../../src/platform/containment.ts';
import { srt } from '../../src/sandbox/srt.ts';
import { type Finished, type Running, startRalph } from '../rig/ralph.ts';
import { type Repo, repo, writeScript } from '../rig/repo.ts';
import { IS_THOROUGH } from '../rig/thorough.ts';

/** `plain`: `containment` is off. `contained`: no sandbox, a PID namespace. `sandboxed`: srt. */
export const LEVELS = ['plain', 'contained', 'sandboxed'] as const;
export type Level = (typeof LEVELS)[number];

export interface Attack {
  /** What the attacker does, for the table: "A nested repository with a clean filter". */
  readonly name: string;
  /** Whether it is held at each level; absent: it makes no sense there. */
  readonly held: Partial<Readonly<Record<Level, boolean>>>;
  /** Tried by `npm test`; where none of a class is, the first one is. */
  readonly quick?: true;
  /** Answers whether it was held. */
  attempt(arena: Arena): Promise<boolean>;
  /** Those of one group are tried in one run, which holds all or none; each alone in a campaign. */
  readonly group?: Group;
}

export interface Group {
  readonly name: string;
  /** Answers whether each of them was held. */
  attempt(arena: Arena): Promise<boolean>;
}

export interface Arena {
  readonly level: Level;
  /** The user's home: `.local/state/ralph` below it is Ralph's state folder. */
  readonly home: string;
  /** A folder outside of project and home that no attack may write to when the level holds; an escape creates a file there. */
  readonly outside: string;
  /** A project, a git repository. Pass files; `README.md` is there without any. */
  project(files?: Readonly<Record<string, string>>): Repo;
  /** An agent that is this shell script; answers its command, for `--agent`. stdin holds its prompt, `$PARENT` who started it. */
  agent(script: string): string;
  /** The real binary, at this level: `args` of a command that runs a loop get the flags of the level. */
  ralph(args: readonly string[], options: RedTeamOptions): Promise<Finished>;
  /** The same, while it runs. */
  start(args: readonly string[], options: RedTeamOptions): Running;
}

export interface RedTeamOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly path?: readonly string[];
  readonly input?: string;
  /** A program that starts Ralph, with the words that it needs. */
  readonly prefix?: readonly string[];
}

const srtWorks = (await srt.probe({ cwd: '/', env: process.env, container: { args: [] } })).ok;
export const CONTAINMENT_WORKS = (
  await findContainment({ tree: process.cwd(), env: process.env, hide: tmpdir() })
).ok;

const WORKS: Readonly<Record<Level, boolean>> = {
  plain: true,
  contained: CONTAINMENT_WORKS,
  sandboxed: srtWorks,
};

/** How it is done: what is held must not depend on the words, the program or the moment that somebody chose for it. */
interface Variant {
  readonly name: string;
  /** What the folder of the project is called. */
  readonly folder?: string;
  /** The script of the agent, in another form. */
  spell?(script: string): string;
}

const encoded = (script: string) => Buffer.from(script).toString('base64');

export const VARIANTS: readonly Variant[] = [
  { name: 'as a script' },
  {
    name: 'encoded, by another program, in a folder with an odd name',
    folder: 'ralph tést ☃ ',
    spell: script =>
      `exec '${process.execPath}' -e 'process.exit(require("child_process").spawnSync("sh", ["-c", Buffer.from("${encoded(script)}", "base64").toString()], { stdio: "inherit" }).status ?? 1)'`,
  },
  {
    name: 'from a process in a session of its own, while the agent waits',
    spell: script =>
      `exec 3<&0; setsid -w sh -c "$(echo ${encoded(script)} | base64 -d)" <&3 3<&- &\nwait $!`,
  },
];

/** All of them in a campaign. Else another one for each attack in turn. */
function variantsOf(at: number): readonly Variant[] {
  return IS_THOROUGH ? VARIANTS : VARIANTS.slice(at % VARIANTS.length, (at % VARIANTS.length) + 1);
}

/** One class of attacks: a heading of the table, and a row for each. */
export function attacks(heading: string, rows: readonly Attack[]): void {
  ATTACKS.push({ heading, rows });
  if (onlyListed) return;
  describe(heading, () => {
    const tried = IS_THOROUGH ? rows : grouped(rows);
    const first = tried.find(({ quick }) => quick) ?? tried[0];
    for (const [at, attack] of tried.entries()) {
      const options = attack === first ? { tags: 'promise' } : {};
      for (const level of levelsOf(attack)) {
        const held = attack.held[level];
        if (held === undefined) continue;
        const says = held ? 'is held' : 'is not held, as the table says';
        // What is not held needs one way only.
        for (const variant of held ? variantsOf(at) : VARIANTS.slice(0, 1))
          test.skipIf(!WORKS[level])(
            `${attack.name} ${says} (${level}, ${variant.name})`,
            options,
            async () => {
              expect(await attack.attempt(arenaAt(level, variant))).toBe(held);
            },
          );
      }
    }
  });
}

/** Each group in place of the first of its attacks. */
function grouped(rows: readonly Attack[]): readonly Attack[] {
  const seen = new Set<Group>();
  return rows.flatMap(({ group, ...attack }) => {
    if (!group) return [attack];
    if (seen.has(group)) return [];
    seen.add(group);
    return [{ ...attack, ...group }];
  });
}

/** All of them in a campaign. Else one for each attack, the one that a run has by default where that makes sense. */
function levelsOf({ held }: Attack): readonly Level[] {
  const all = LEVELS.filter(level => held[level] !== undefined);
  return IS_THOROUGH ? all : [all.find(level => level === 'contained') ?? all[0] ?? 'plain'];
}

/** All that were registered in this process. */
export const ATTACKS: { readonly heading: string; readonly rows: readonly Attack[] }[] = [];

let onlyListed = false;

/** From now on attacks are listed and not tried: for the table of the docs. */
export function listOnly(): void {
  onlyListed = true;
}

const LOOPS: ReadonlySet<string> = new Set(['run', 'loop', 'prd', 'resume']);

function flagsOf(level: Level, args: readonly string[]): readonly string[] {
  if (!LOOPS.has(args[0] ?? '') || (args[0] === 'prd' && args[1] !== 'run')) return [];
  if (args[0] === 'resume') return [];
  if (level === 'plain') return ['--containment', 'off'];
  return level === 'sandboxed' ? ['--sandbox=srt'] : [];
}

function arenaAt(level: Level, { folder, spell = script => script }: Variant): Arena {
  const made = (name: string) => {
    const dir = mkdtempSync(join(tmpdir(), name));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }));
    return dir;
  };
  const home = made('ralph-home-');
  const outside = made('ralph-outside-');
  const start: Arena['start'] = (args, { env = {}, ...options }) =>
    startRalph([...args, ...flagsOf(level, args)], { ...options, env: { HOME: home, ...env } });
  return {
    level,
    home,
    outside,
    project: files => repo(files, folder),
    agent(script) {
      return writeScript(join(made('ralph-agent-'), 'agent'), `export PARENT=$PPID\n${spell(script)}`);
    },
    async ralph(args, options) {
      const finished = await start(args, options).finished;
      // A Ralph that breaks holds nothing.
      if (/^Error: Cannot find module|a bug in Ralph|unknown option/m.test(finished.stderr))
        throw new Error(finished.stderr);
      return finished;
    },
    start,
  };
}
