/**
 * A wall round a process, in the terms of this layer: a command goes in, and the command that starts it behind the wall
 * comes out. Who starts agents and checks knows this much and nothing of what the wall is made of.
 */

/** Milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A place in a folder that others have theirs in, too. */
export interface Among {
  readonly folder: string;
  readonly own: string;
  /** A folder elsewhere that is seen instead. */
  readonly view: string;
}

export interface Command {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folders that look empty to it, where the wall can do that. `cwd` is in none of them. */
  readonly hide?: readonly string[];
  /** A folder in one of `rooms` that it may write instead of where the agent wrote: that is not there for it. */
  readonly room?: string;
  /** The places of others beside its own are not there for it, where the wall can do that. */
  readonly among?: Among;
  /** With a room, where the inside may write to the user's own folders: what was written to them then is not there. */
  readonly without?: Span;
}

/** The command as it is really started. */
export interface Confined extends Command {
  /**
   * `NAME=value` in the environment of the command itself and of what it starts, not of the wall around it: whom a signal is
   * meant for. A signal to the wall would bring everything down at once.
   */
  readonly inside?: string;
  /**
   * What is started has one child, an init that waits for the command and tidies up after it. A request to stop is not for these two;
   * a death by signal comes back as 128 + n; how many processes were left is written to descriptor 3; when it has ended by itself,
   * nothing behind it is left.
   */
  readonly init?: true;
  /** Called when nothing of it is left, before anything is decided. Must not throw. */
  ended?(): void;
  /** Ends it where no signal from here reaches, such as a container. */
  readonly undo?: readonly [string, ...string[]];
}

/** The wall cannot be put up any more: nothing is started. */
export interface NotConfined {
  readonly code: string;
}

export interface Confinement {
  /** A folder that can be written from inside; undefined: whatever is asked of the command lands where it says. */
  readonly scratch?: string;
  /** Folders for rooms, the first that fits; undefined: it has none. */
  readonly rooms?: readonly string[];
  /** Must not throw. */
  wrap(command: Command): Promise<Confined | NotConfined>;
}
