/** Writes the bundle of a run that has ended: what its ledger says, the protected files, the settings, and a signature where a key is named. */

import { type LedgerTrust, trustWith } from '../../domain/run/ledger-trust.ts';
import type { Json } from '../../domain/text/json.ts';
import { asObject } from '../../domain/text/json.ts';
import { isProblem, type Problem } from '../../domain/text/problem.ts';
import { fileSize } from '../../platform/files.ts';
import type { RunPaths } from '../../store/paths.ts';
import { readRunFile } from '../../store/run-file.ts';
import { readList } from '../../workspace/keep-files.ts';
import { derive } from './derive.ts';
import { encodeBundle, MOST_BYTES, signedBytes } from './envelope.ts';
import { misfitOf, PREDICATE_TYPE, type Predicate, STATEMENT_TYPE, type Statement } from './format.ts';
import { bundleLedger } from './ledger.ts';
import { type SshWorld, sign } from './ssh.ts';

export interface BundleRequest {
  readonly id: string;
  readonly paths: RunPaths;
  /** Of the Ralph that writes it. */
  readonly version: string;
  /** A key of the user's; undefined: it is not signed. */
  readonly key: string | undefined;
  readonly world: SshWorld;
}

interface Described {
  readonly statement: Statement;
  readonly trust: LedgerTrust;
}

export interface Written {
  readonly text: string;
  readonly trust: LedgerTrust;
}

/** With how far the ledger can be believed, which it says itself. */
export function writeBundle(request: BundleRequest): Written | Problem {
  const described = describeRun(request);
  if (isProblem(described)) return described;
  const { statement, trust } = described;
  const payload = Buffer.from(JSON.stringify(statement));
  const signature =
    request.key === undefined ? undefined : sign(signedBytes(payload), request.key, request.world);
  if (isProblem(signature)) return signature;
  const text = encodeBundle(payload, signature);
  if (text.length <= MOST_BYTES) return { text, trust };
  const what = `its bundle would have ${Math.ceil(text.length / 1024 / 1024)} MB, and no reader takes more than ${MOST_BYTES / 1024 / 1024}`;
  return { where: request.id, what };
}

function describeRun({ id, paths, version }: BundleRequest): Described | Problem {
  const cannot = (what: string, fix?: string): Problem => ({ where: id, what, ...(fix && { fix }) });
  const bundled = fileSize(paths.events) === 0 ? undefined : bundleLedger(paths);
  if (!bundled) return cannot('it has no ledger, so there is nothing to prove');
  const { ledger, misfit } = bundled;
  const derived = derive(ledger.entries);
  if (typeof derived === 'string')
    return cannot(derived, '`ralph status` says how it stands; a bundle is written when it is over');
  const { kept, committed: _, ...said } = derived;
  const files = kept === undefined ? [] : protectedFiles(paths, kept);
  if (isProblem(files)) return files;
  const trust = trustWith(paths.trust, misfit === undefined ? [] : [misfit]);
  const file = readRunFile(paths);
  const { commit, tree } = said.proof;
  const statement: Statement = {
    _type: STATEMENT_TYPE,
    subject: [
      ...(commit === null ? [] : [{ name: 'commit', digest: { gitCommit: commit } } as const]),
      ...(tree === null ? [] : [{ name: 'tree', digest: { gitTree: tree } } as const]),
    ],
    predicateType: PREDICATE_TYPE,
    predicate: {
      ...said,
      protected: files,
      settings: settingsThatMatter(asObject(file?.config)),
      versions: {
        ralph: file?.version ?? '',
        bundle: version,
        node: process.version,
        system: `${process.platform} ${process.arch}`,
      },
      ledger: { trust: trust.kind, ...ledger },
    },
  };
  const strange = misfitOf(statement);
  return strange === undefined
    ? { statement, trust }
    : cannot(`its ledger holds what no Ralph writes: ${strange}`);
}

function protectedFiles(paths: RunPaths, name: string): Predicate['protected'] | Problem {
  const list = readList(paths.state.kept, name);
  if (isProblem(list)) return list;
  return [...list.kept].map(([path, { kind, sha256 }]) => ({ path, kind, sha256 }));
}

/** What decides when a run is done. */
const MATTERS = [
  ...['checks', 'guardrails', 'checkTimeout', 'guardrailTimeout', 'checkRetries', 'baselineUngated'],
  ...['protect', 'protectNew', 'only', 'proof', 'setup', 'setupTimeout', 'strict', 'containment'],
  ...['mutate', 'mutateMax', 'mutateTime', 'mutateMin'],
  ...['skipReview', 'reviewCap', 'atCap', 'maximumIterations'],
];

function settingsThatMatter(config: Json | undefined): Json {
  return Object.fromEntries(MATTERS.flatMap(key => (config && key in config ? [[key, config[key]]] : [])));
}
