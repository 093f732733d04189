/** What Ralph knows of installing its plugin in one host. */
export type HostName = 'claude' | 'codex' | 'copilot' | 'qwen' | 'gemini' | 'opencode';

/** One thing that changes, as it is shown to the user before it is done. */
export type Step =
  /** The host's own command; it keeps its files in order better than we could. */
  | { readonly kind: 'run'; readonly argv: readonly [string, ...string[]] }
  | { readonly kind: 'write'; readonly path: string; readonly content: string }
  /** A folder or a file, and nothing beside it. */
  | { readonly kind: 'remove'; readonly path: string };

export interface Place {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Ralph's own folder, with `plugins` in it. */
  readonly root: string;
  /** Reads a file, undefined when there is none. */
  read(path: string): string | undefined;
  /** Every file in one of Ralph's plugin folders, by its name in there. */
  files(folder: string): readonly string[];
}

export interface HostPlugin {
  readonly title: string;
  /** The command by which the host is started. */
  readonly command: string;
  /** Ralph's folder for this host, in `plugins`. */
  readonly folder: string;
  /** The version that is installed and switched on, if any. */
  installed(place: Place): string | undefined;
  install(place: Place): readonly Step[];
  remove(place: Place): readonly Step[];
  /** What may still keep the loop from running, a sentence each; `stops` says that it surely does. */
  cautions(place: Place): readonly { readonly text: string; readonly stops?: boolean }[];
}
