/**
 * What is kept outside of every project: `$XDG_STATE_HOME/ralph`. What must be believed later is here, because the inside can write
 * everything in the project. Containment and sandboxes hide this folder from the inside. docs/reference/state.md says what is in it.
 */

import { realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import { laterVersion, type Problem } from '../domain/text/problem.ts';
import type { Env } from '../domain/text/secret-values.ts';
import { isReallyBelow, readIfThere, tryTo } from '../platform/files.ts';
import { sha256 } from '../platform/hash.ts';
import { stateFolder } from '../platform/package.ts';

export type { Env };

export function statePaths(env: Env) {
  const folder = stateFolder(env);
  const below = belowOf(folder);
  return {
    folder,
    /** The version of the folder. */
    format: below('format'),
    /** The machine that the folder is on. */
    machine: below('machine'),
    /** The containment that has worked on this machine. */
    containment: below('containment'),
    /** What a browser is given in place of an address with a token. */
    page: (name: string) => join(folder, 'pages', `${name}.html`),
    /** A small file for each project in which Ralph has run. */
    projects: below('projects'),
    /** Which stories of a list were approved by a review of Ralph's own, by the project and the folder of the list in it. */
    approvals: (root: string, name: string) =>
      join(folder, 'approvals', keyOf(root), `${sha256(name).slice(0, 16)}.json`),
    /** Ralph's own git directories. */
    gits: below('git'),
    /** That for a work tree, by the top of that tree. */
    git: (top: string) => join(folder, 'git', keyOf(top)),
    /** What `ralph fleet up` keeps. */
    fleet: {
      folder: below('fleet'),
      /** The URL of the database, with its password. */
      database: below('fleet/database'),
      /** How the server of the user's own is reached: where its data is, its port, its passwords. */
      record: below('fleet/server.json'),
      /** Its data, unless the user wants them elsewhere. */
      server: below('fleet/pg'),
      lock: below('fleet/lock'),
      /** The mark of a worker of this machine, for as long as it lives. */
      worker: (name: string) => below(`fleet/workers/${name}`),
      /** Units as they are read on this machine: a project for each database. */
      read: (database: string) => join(folder, 'fleet', 'read', sha256(database).slice(0, 16)),
    },
    /** What is kept of a project, by where it is: one that was moved or cloned has nothing here yet. */
    project: (root: string) => projectState(folder, root),
  };
}

export type ProjectState = Readonly<ReturnType<typeof projectState>>;

function projectState(folder: string, root: string) {
  const below = belowOf(folder);
  const project = keyOf(root);
  const runs = below(`runs/${project}`);
  return {
    /** The whole state folder. */
    folder,
    /** It is inside the project, where the agent can write: nothing in it counts. */
    get isInside(): boolean {
      return isReallyBelow(folder, root);
    },
    runs,
    /** Held while a run is begun, so that of two at the same time one sees the other. */
    beginLock: belowOf(runs)('begin.lock'),
    /** A lease for each run that is running, so that the others need not be looked at. */
    live: below(`live/${project}`),
    /** The mark of the `ralph watch` that works for it, for as long as that lives. */
    watch: below(`watch/${project}`),
    /** The truth of an in-session loop, by the name of its file in the project: a folder with its versions. */
    session: (name: string) => join(folder, 'loops', project, name),
    run: (id: string) => runState(join(runs, id)),
    /** What `ralph land` keeps of a fleet's unit, by its id. */
    unit: (id: string) => runState(join(folder, 'units', project, id)),
  };
}

export type RunStatePaths = Readonly<ReturnType<typeof runState>>;

function runState(folder: string) {
  const below = belowOf(folder);
  return {
    folder,
    /** What it was given. A run that has this file here was recorded here. */
    run: below('run.json'),
    /** Its ledger; `endBeside` has the name of what is kept of its end. */
    events: below('events.jsonl'),
    /** The user's prompt or task, byte for byte. */
    task: below('task.md'),
    /** The settings files of the project, as they were when it began. */
    settings: below('settings.json'),
    /** The protected files as they were at the start, and each story list that was trusted, by their hashes. */
    kept: below('kept'),
    /** All files as they were when a review began, for as long as it lasts. */
    keptForReview: below('kept-for-review'),
    /** What its agent and its checks see where other runs have their places. */
    among: below('among'),
    /** What the run had done at some place of its ledger. */
    checkpoint: below('checkpoint.json'),
    /** The results of the checks of a session, and for which files. */
    checks: below('checks.json'),
    /** Of a fleet's unit: what `laneSetup` made for it on this machine is to be taken away, and how. */
    lane: below('lane.json'),
    /** Of a fleet's unit: why its work is in its place on this machine and nowhere else. */
    left: below('left'),
    /** Where `ralph land` took its work, or was about to. */
    landed: below('landed.json'),
    /** Messages to the run that nobody has acted on yet, a file each. */
    inbox: below('inbox'),
    /** Held while a process makes the run its own, or writes to its ledger. */
    lock: below('lock'),
  };
}

/** Beside a ledger: where it ended when it was last safe on the disk. */
export function endBeside(events: string): string {
  return `${events}.end`;
}

/** Of the state folder; one that does not say has 1. Raised when an older Ralph would misread what is in it. */
export const STATE_FORMAT = 1;

/** A state folder that a later Ralph has changed is left alone. */
export function laterState(env: Env): Problem | undefined {
  const { folder, format } = statePaths(env);
  const found = Number(tryTo(() => readIfThere(format)) ?? STATE_FORMAT);
  return found > STATE_FORMAT ? laterVersion(folder, found, STATE_FORMAT) : undefined;
}

/** By its real name: the same folder may be reached by several. */
function keyOf(path: string): string {
  return sha256(tryTo(() => realpathSync(path)) ?? path).slice(0, 16);
}

/** Names in a folder that is spelt well already: to put each together anew costs a hook more than all else that it does with them. */
export function belowOf(folder: string): (name: string) => string {
  return name => `${folder}${sep}${name}`;
}
