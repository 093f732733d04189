/** Programs that start another one, which stands behind their own words. */

/** How to get past the words of the wrapper itself. */
export interface Wrapper {
  /** Flags with a value of their own. */
  readonly valued?: string;
  /** Words to skip after the flags: a duration, a lock file. */
  readonly skip?: number;
  readonly assignments?: true;
}

export const ENV: Wrapper = { valued: '-u -C --unset --chdir', assignments: true };

const PLAIN =
  'nohup setsid unbuffer builtin unshare busybox toybox proxychains proxychains4 caffeinate chronic pnpx bunx shx';

export const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  ...Object.fromEntries(PLAIN.split(' ').map(name => [name, {}])),
  chrt: { skip: 1 },
  chroot: { skip: 1 },
  sudo: { valued: '-u -g -h -p -C -T -D -R -r -t --user --group --host --chdir --prompt', assignments: true },
  doas: { valued: '-u -C' },
  pkexec: { valued: '--user' },
  nice: { valued: '-n --adjustment' },
  ionice: { valued: '-c -n -p' },
  time: { valued: '-f -o' },
  timeout: { valued: '-s -k --signal --kill-after', skip: 1 },
  gtimeout: { valued: '-s -k', skip: 1 },
  stdbuf: { valued: '-i -o -e' },
  exec: { valued: '-a' },
  strace: { valued: '-o -e -p -s' },
  ltrace: { valued: '-o -e' },
  'systemd-run': { valued: '-p --unit --property' },
  dotenv: { valued: '-e -f' },
  'cross-env': { assignments: true },
  retry: { valued: '-t -d' },
};

/** The words of the command that is wrapped. */
export function skipped(
  args: readonly string[],
  { valued = '', skip = 0, assignments }: Wrapper,
): readonly string[] {
  const withValue = valued.split(' ');
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] ?? '';
    if (word === '--') {
      at++;
      break;
    }
    if (withValue.includes(word)) at++;
    else if (!(word.startsWith('-') && word.length > 1) && !(assignments && /^\w+=/.test(word))) break;
  }
  return args.slice(at + skip);
}
