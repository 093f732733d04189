/** `ralph verify`: what a bundle claims, looked at by somebody who trusts neither the machine nor the person it comes from. */
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { contain, guardState } from '../../opening/contain.ts';
import { harmless } from '../../platform/text.ts';
import { type Claim, claims } from '../../proof/bundle/claim.ts';
import { type Bundle, readBundle } from '../../proof/bundle/envelope.ts';
import { rerunChecks } from '../../proof/bundle/rerun.ts';
import { type Verified, verifyBundle } from '../../proof/bundle/verify.ts';
import { answer, type Call, type CliCommand, orThrow, refuse } from '../command.ts';
import { untilStopped } from '../signals.ts';

export const verify: CliCommand = {
  declare: command =>
    command
      .argument('<bundle>', 'the file that `ralph report --bundle` wrote')
      .option(
        '--repo <dir>',
        'a clone with the commit, or the folder in it where the checks run; default: here',
      )
      .option('--commit <name>', 'the commit that you ask about; default: HEAD')
      .option('--allowed-signers <file>', 'who may have signed it, as ssh-keygen and git know such files')
      .option('--signer <name>', 'only this one of them')
      .option('--rerun', 'also run the checks that it names, in a clean checkout of the commit'),
  help: `
Examples:
  ralph verify run.proof
  ralph verify run.proof --repo ../clone --allowed-signers .github/signers
  ralph verify run.proof --rerun

A bundle is about one commit. Where HEAD is another one, that claim does not
hold: name the old one with --commit to ask about it.

One line for each claim: holds, does not hold, unknown. --rerun runs
commands that the bundle names, with your rights, and none of them when a claim
does not hold. A bundle that is not signed says so: anybody can have written it.
Exit code 0: everything holds. 1: something does not, or is unknown. 2: the
file is no bundle.
`,
  async run(call) {
    const place = { cwd: folderOf(call), env: call.env };
    const signers = signersOf(call);
    const file = resolve(call.cwd, call.args[0] ?? '');
    const bundle = orThrow(readBundle(file));
    const verified = await verifyBundle(bundle, { place, signers, commit: commitOf(call) });
    const again = call.options.rerun === true ? await rerun(call, place.cwd, bundle, verified) : [];
    if (again === 'interrupted') return 130;
    const all = [...verified.claims, ...again];
    const holds = all.every(({ state }) => state === 'holds');
    const { predicate } = bundle.statement;
    const result = {
      holds,
      signed: verified.isSigned,
      claims: all,
      run: predicate.run,
      proof: predicate.proof,
    };
    answer(call.output, result, () => linesOf(all, verified).join('\n'));
    return holds ? 0 : 1;
  },
};

function folderOf({ options, cwd }: Call): string {
  const folder = resolve(cwd, typeof options.repo === 'string' ? options.repo : '.');
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    refuse(`--repo ${String(options.repo)}`, 'there is no such folder', 'name a clone of the project');
  return folder;
}

function commitOf({ options }: Call): string | undefined {
  const { commit } = options;
  if (typeof commit !== 'string') return undefined;
  if (!/^[^\s\x00-\x1f\x7f-][^\s\x00-\x1f\x7f]*$/.test(commit))
    refuse(`--commit ${commit}`, 'is no name of a commit', 'name it as git log shows it');
  return commit;
}

function signersOf({ options, cwd }: Call) {
  const who = typeof options.signer === 'string' ? options.signer : undefined;
  if (typeof options.allowedSigners !== 'string') {
    if (who !== undefined)
      refuse('--signer', 'needs --allowed-signers: a file with the key of each who may sign');
    return undefined;
  }
  const allowed = resolve(cwd, options.allowedSigners);
  if (!existsSync(allowed)) refuse(`--allowed-signers ${options.allowedSigners}`, 'there is no such file');
  return { allowed, who };
}

/** Commands of a bundle that is not believed are not run. */
async function rerun(
  { env, output }: Call,
  cwd: string,
  { statement: { predicate } }: Bundle,
  { claims: before, found }: Verified,
): Promise<readonly Claim[] | 'interrupted'> {
  if (!found || before.some(({ state }) => state === 'does not hold'))
    return [claims.unknown('rerun', 'not run: commands of a bundle that does not hold are not executed')];
  return untilStopped(async abort => {
    const state = guardState(env, () => {});
    try {
      const { wall, notices } = await contain({ containment: 'auto', tree: cwd, env, state });
      for (const notice of notices) output.error(`ralph verify: ${notice}\n`);
      const begins = (command: string) => output.error(`Running \`${command}\` …\n`);
      const place = { cwd, env };
      const ended = await rerunChecks({ predicate, found, place, wall, abort, begins });
      return abort.aborted ? 'interrupted' : ended;
    } finally {
      state.close();
    }
  });
}

const WIDTH = 'does not hold'.length;

function linesOf(all: readonly Claim[], { isSigned }: Verified): readonly string[] {
  const count = (state: Claim['state']) => all.filter(each => each.state === state).length;
  const [failed, unknown] = [count('does not hold'), count('unknown')];
  const summary = [
    ...(failed > 0 ? [`${failed} ${failed === 1 ? 'claim does' : 'claims do'} not hold`] : []),
    ...(unknown > 0 ? [`${unknown} unknown`] : []),
  ];
  return [
    ...all.map(
      ({ claim, state, why }) => `${state.padEnd(WIDTH)}  ${claim}: ${harmless(why).replace(/\s+/g, ' ')}`,
    ),
    ...(isSigned
      ? []
      : [
          'Not signed: whoever had this file can have written it anew. `ralph report --bundle FILE --sign-key KEY` signs.',
        ]),
    summary.length === 0 ? 'Everything that the bundle claims holds.' : `${summary.join(', ')}.`,
  ];
}
