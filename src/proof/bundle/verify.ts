/** Looks at everything that a bundle claims: the envelope, who signed it, the ledger, what it says of the run, the repository. */
import {
  type Contained,
  isSupported,
  type ProofLevel,
  proofWords,
  supportOf,
} from '../../domain/checks/proof.ts';
import { outcomeWords } from '../../domain/checks/words.ts';
import { countChecks } from '../../domain/run/result.ts';
import type { Place } from '../../workspace/repository.ts';
import { type Claim, claims } from './claim.ts';
import { claimsOfRepository, type Found } from './commit.ts';
import { type Derived, derive } from './derive.ts';
import { type Bundle, signedBytes } from './envelope.ts';
import type { BundledCheck, Predicate } from './format.ts';
import { chainMisfit } from './ledger.ts';
import { fingerprint, type Signers, verifySignature } from './ssh.ts';

export interface VerifyOptions {
  /** The clone, or a folder in it. */
  readonly place: Place;
  /** Who may have signed it; undefined: nobody was named. */
  readonly signers: Signers | undefined;
  /** The commit that is asked about; absent: HEAD. */
  readonly commit?: string | undefined;
}

export interface Verified {
  readonly claims: readonly Claim[];
  readonly isSigned: boolean;
  /** What was proven; undefined: the repository does not have it. */
  readonly found: Found | undefined;
}

export async function verifyBundle(bundle: Bundle, options: VerifyOptions): Promise<Verified> {
  const { statement, isWhole, signature } = bundle;
  const { predicate } = statement;
  const derived = derive(predicate.ledger.entries);
  const committed = typeof derived === 'string' ? undefined : derived.committed;
  const signed = signatureClaim(bundle, options);
  const ledger = ledgerClaim(predicate);
  const repository = await claimsOfRepository(options.place, {
    ...{ ...predicate, committed, asked: options.commit ?? 'HEAD' },
  });
  return {
    claims: [
      isWhole
        ? claims.holds('envelope', 'a bundle of version 1, as it was written')
        : claims.fails('envelope', 'it was changed after it was written: its digest is another'),
      ...signed,
      ledger,
      ...(typeof derived === 'string'
        ? [claims.fails('result', derived)]
        : [...agreement(bundle, derived), ...runClaims(predicate).map(claim => resting(claim, ledger))]),
      ...repository.claims,
    ],
    isSigned: signature !== undefined,
    found: repository.found,
  };
}

/** A bundle without a signature claims none; who asks for a signer is not content with that. */
function signatureClaim({ payload, signature }: Bundle, { signers, place }: VerifyOptions): readonly Claim[] {
  if (!signature) return signers ? [claims.fails('signature', 'the bundle is not signed')] : [];
  if (!signers) {
    const key = fingerprint(signature.sig) ?? 'no key';
    const why = `it is signed with ${key}; name who may sign with --allowed-signers`;
    return [
      signature.keyid === key ? claims.unknown('signature', why) : claims.fails('signature', 'it is damaged'),
    ];
  }
  const answer = verifySignature(signedBytes(payload), signature, signers, place);
  if (answer.kind === 'holds') return [claims.holds('signature', `signed by ${answer.who}`)];
  return [
    answer.kind === 'fails' ? claims.fails('signature', answer.why) : claims.unknown('signature', answer.why),
  ];
}

function ledgerClaim({ ledger }: Predicate): Claim {
  const misfit = chainMisfit(ledger);
  if (misfit !== undefined) return claims.fails('ledger', misfit);
  if (ledger.trust === 'intact')
    return claims.holds(
      'ledger',
      `${ledger.lines} lines, each follows from the one before it; it was intact when the bundle was written`,
    );
  if (ledger.trust === 'changed')
    return claims.fails('ledger', 'it had been changed before the bundle was written');
  return claims.unknown('ledger', 'there was no record of it where the bundle was written');
}

/** What a ledger says that cannot be believed does not hold by that. */
function resting(claim: Claim, ledger: Claim): Claim {
  if (ledger.state === 'holds' || claim.state !== 'holds') return claim;
  return claims.unknown(claim.claim, 'there is only the ledger that says so, and it cannot be believed');
}

const DERIVED = ['run', 'proof', 'checks', 'inputs', 'reviews', 'violations', 'mutation'] as const;

/** What the bundle says must be what its own ledger says. */
function agreement({ statement: { predicate, subject } }: Bundle, derived: Derived): readonly Claim[] {
  const differs: string[] = DERIVED.filter(part => !isSame(predicate[part], derived[part]));
  const { commit, tree } = derived.proof;
  const named = subject.map(({ name, digest }) => `${name} ${digest.gitCommit ?? ''}${digest.gitTree ?? ''}`);
  const wanted = [
    ...(commit === null ? [] : [`commit ${commit}`]),
    ...(tree === null ? [] : [`tree ${tree}`]),
  ];
  if (!isSame(named, wanted)) differs.push('subject');
  if (derived.kept === undefined && predicate.protected.length > 0) differs.push('protected');
  const configured = textsOf(predicate.settings.checks);
  const ran = new Set(derived.checks.map(({ command }) => command));
  if (derived.run.command === 'loop' && derived.run.success && configured.some(command => !ran.has(command)))
    differs.push('settings');
  if (differs.length === 0) return [claims.holds('content', 'what the bundle says is what its ledger says')];
  return [
    claims.fails('content', `what the bundle says of ${differs.join(', ')} is not what its ledger says`),
  ];
}

/** Both come from the same function, and from JSON: the order of their fields is the same, too. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : [];
}

/** What the run has shown. By the bundle, which is in good shape; whether the ledger says the same is a claim of its own. */
function runClaims(predicate: Predicate): readonly Claim[] {
  const { run, proof, checks, reviews, violations, settings } = predicate;
  const changed = proof.checkInputsChanged;
  const result = `the run ended as ${run.stopReason} after ${run.iterations} iteration${run.iterations === 1 ? '' : 's'}`;
  return [
    run.success ? claims.holds('result', result) : claims.fails('result', result),
    proofClaim(predicate),
    ...checks.map(checkClaim),
    changed.length === 0
      ? claims.holds('check inputs', 'what the checks rest on did not change')
      : claims.fails('check inputs', `changed in the run: ${changed.join(', ')}`),
    ...(violations.length === 0 ? [] : [violationClaim(violations)]),
    ...reviewClaims(reviews),
    ...mutationClaim(predicate, settings.mutateMin),
  ];
}

/** Of a run that was not done, too: its level says where the checks ran, and not that they passed. */
function proofClaim({ run, proof, checks }: Predicate): Claim {
  const level = {
    ...proof,
    level: proof.level as ProofLevel,
    contained: proof.contained as Contained,
    checkInputsChanged: [],
  };
  if (checks.some(({ passed, ungated }) => !passed && !ungated))
    return claims.fails('proof', 'not every check passed');
  const support = supportOf({ stopReason: run.stopReason, proof: level, checks: countChecks(checks) });
  const words = proofWords(level, 'the folder of the run', support);
  return isSupported(support) ? claims.holds('proof', words) : claims.fails('proof', words);
}

function checkClaim(check: BundledCheck): Claim {
  const { command, passed, ungated, seconds, setup, voided } = check;
  const name = setup ? 'setup' : 'check';
  const words = `\`${command}\` ${outcomeWords(check)} (${seconds.toFixed(1)} s)`;
  if (passed && voided === null) return claims.holds(name, words);
  return ungated && voided === null
    ? claims.unknown(name, `${words}; it failed before the run, too, and was excused`)
    : claims.fails(name, words);
}

function violationClaim(violations: Predicate['violations']): Claim {
  const left = violations.filter(({ restored }) => !restored);
  const [first] = left;
  if (first) return claims.fails('violations', `not undone: ${first.what}`);
  const number =
    violations.length === 1
      ? '1 change that is not allowed was'
      : `${violations.length} changes that are not allowed were`;
  return claims.holds('violations', `${number} undone`);
}

/** The last review of each story counts. */
function reviewClaims(reviews: Predicate['reviews']): readonly Claim[] {
  const last = new Map(reviews.map(review => [review.story, review]));
  return [...last.values()].map(({ story, verdict, by, at }) => {
    const words = `${story}: ${verdict} by ${by}, ${at}`;
    return verdict === 'approved' ? claims.holds('review', words) : claims.fails('review', words);
  });
}

function mutationClaim({ mutation }: Predicate, min: unknown): readonly Claim[] {
  if (!mutation) return [];
  const { score, mutants, survivors } = mutation;
  if (score === null) return [claims.holds('mutation', 'there was no line in which a fault could be tried')];
  const words = `${mutants - survivors.length} of ${mutants} faults in the changed lines were noticed (${score} %)`;
  return [
    typeof min === 'number' && score < min
      ? claims.fails('mutation', `${words}, fewer than ${min} %`)
      : claims.holds('mutation', words),
  ];
}
