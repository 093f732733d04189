/** The flags of every command. */
export interface GlobalFlag {
  readonly declaration: string;
  readonly help: string;
}

export const GLOBAL_FLAGS: readonly GlobalFlag[] = [
  { declaration: '-C, --cwd <dir>', help: 'work in this folder' },
  { declaration: '-V, --verbose', help: 'print details, on stderr' },
  { declaration: '--quiet', help: 'print only the final result' },
  { declaration: '--json', help: 'one JSON result on stdout, everything else on stderr' },
  { declaration: '--events <file>', help: 'write one JSON event per line to a file, or - for stdout' },
  { declaration: '--no-color', help: 'no colour (also NO_COLOR)' },
  { declaration: '--no-emoji', help: 'text markers instead of emoji' },
];
