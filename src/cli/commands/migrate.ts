/** `ralph migrate`: settings of an earlier version, brought to this one; all of them or none. */
import { lstatSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { type Migrated, migrateSettings } from '../../config/migrate.ts';
import { SETTINGS_VERSION } from '../../config/names.ts';
import type { Problem } from '../../domain/text/problem.ts';
import { createRedactor } from '../../domain/text/secrets.ts';
import { isReallyBelow, readIfThere, writeAtomic } from '../../platform/files.ts';
import { diffLines } from '../../report/changes.ts';
import { projectPaths } from '../../store/paths.ts';
import { answer, type Call, type CliCommand, Problems } from '../command.ts';
import { styleOf } from '../reporters.ts';

export const migrate: CliCommand = {
  declare: command =>
    command
      .argument('[file]', 'a YAML file of `ralph loop -c`; without it the settings of the project')
      .option('--dry-run', 'print the change as a diff, and write nothing'),
  help: `
Examples:
  ralph migrate --dry-run
  ralph migrate
  ralph migrate loop.yaml

Only the names of settings change: the rest of a file stays as it was written.
Where something in a file is wrong, all of it is printed and nothing is written.
`,
  async run(call) {
    const { settings, localSettings } = projectPaths(call.root);
    const [named] = call.args;
    const paths = named === undefined ? [settings, localSettings] : [resolve(call.cwd, named)];
    const files = paths.flatMap(path => readOne(path, call, named !== undefined));
    const problems = files.flatMap(file => ('problems' in file ? file.problems : []));
    if (problems.length > 0) throw new Problems(problems);
    const changed = files.filter(file => 'diff' in file).filter(({ diff }) => diff !== '');
    const isDry = call.options.dryRun === true;
    if (!isDry) for (const { path, text, mode } of changed) writeAtomic(path, text, mode);
    print(call, changed, isDry);
    return 0;
  },
};

interface Changed extends Migrated {
  readonly name: string;
  readonly path: string;
  readonly mode: number;
}

/** A link may lead to what is not the project's. */
function readOne(
  path: string,
  { root }: Call,
  isYaml: boolean,
): readonly (Changed | { readonly problems: readonly Problem[] })[] {
  const name = relative(root, path);
  const refused = (what: string, fix?: string) => [
    { problems: [{ where: name, what, ...(fix && { fix }) }] },
  ];
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return isYaml ? refused('there is no such file') : [];
  if (!isReallyBelow(path, root))
    return refused('is not in the project', `change what is in ${root} alone, or use -C`);
  if (!stat.isFile()) return refused('is not a file', 'name the file itself');
  const migrated = migrateSettings(readIfThere(path) ?? '', name, !isYaml);
  return ['diff' in migrated ? { ...migrated, name, path, mode: stat.mode & 0o777 } : { problems: migrated }];
}

function print({ output, env }: Call, changed: readonly Changed[], isDry: boolean): void {
  const redact = createRedactor(env);
  const files = changed.map(({ name, renamed, diff }) => ({ file: name, renamed, diff: redact(diff) }));
  const last = isDry ? 'Nothing was written: `ralph migrate` writes it.' : 'Written.';
  answer(output, { version: SETTINGS_VERSION, written: !isDry && files.length > 0, files }, () =>
    files.length === 0
      ? `Nothing to change: the settings have version ${SETTINGS_VERSION}.`
      : [...files.flatMap(({ diff }) => diffLines(diff, styleOf(output))), '', last].join('\n'),
  );
}
