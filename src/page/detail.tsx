/** All details of one iteration: the prompt, what the agent said and did, the changes, the checks. */
import { compact, counted } from '../report/numbers.ts';
import { checkPhrase, promptPhrase, timePhrases, turnPhrase, usagePhrases } from '../report/phrases.ts';
import type { CheckOutput, CheckView, IterationDetail, IterationView, Part } from '../report/run-view.ts';
import { type FindDetail, useFound } from './data.ts';
import { Diff, Left } from './diff.tsx';
import { Passages } from './passages.tsx';
import { Fold, Scrolled } from './section.tsx';

export function Detail({
  iteration,
  find,
}: {
  readonly iteration: IterationView;
  readonly find: FindDetail;
}) {
  const { number, endedAt } = iteration;
  const detail = useFound(() => find(number).catch(() => null), [number, endedAt, find]);
  return (
    <div class="detail-body">
      <p class="facts">{factsOf(iteration).join(' · ')}</p>
      {detail === undefined && <p class="empty">Reading…</p>}
      {detail === null && (
        <p class="empty">
          Left out to keep this file small. <code>ralph log --iteration {number}</code> shows it.
        </p>
      )}
      {detail && <Parts detail={detail} checks={iteration.checks} />}
    </div>
  );
}

interface PartsProps {
  readonly detail: IterationDetail;
  readonly checks: readonly CheckView[];
}

function Parts({ detail, checks }: PartsProps) {
  const { prompt, passages, passagesLeft, diff, errors } = detail;
  return (
    <>
      {prompt && (
        <Fold title="Prompt" note={sizeOf(prompt)}>
          <Text part={prompt} />
        </Fold>
      )}
      {passages.length > 0 && (
        <Fold
          title="What the agent said and did"
          note={counted(passages.length + passagesLeft, 'passage')}
          open
        >
          <Passages passages={passages} />
          {passagesLeft > 0 && <p class="left">{counted(passagesLeft, 'passage')} more in the ledger</p>}
        </Fold>
      )}
      {diff && (
        <Fold title="Changes since the start of the run" note={sizeOf(diff)}>
          <Diff text={diff.text} />
          <Left part={diff} />
        </Fold>
      )}
      {detail.checks.map(check => (
        <Output key={check.index} check={check} view={checks.find(({ index }) => index === check.index)} />
      ))}
      {errors && (
        <Fold title="stderr of the agent" note={sizeOf(errors)}>
          <Text part={errors} />
        </Fold>
      )}
    </>
  );
}

function Output({ check, view }: { readonly check: CheckOutput; readonly view: CheckView | undefined }) {
  const isRed = view !== undefined && !view.passed;
  const title = (
    <>
      <i class={`dot is-${isRed ? 'red' : 'green'}`} /> <bdi class="mono">{check.command}</bdi>
    </>
  );
  return (
    <Fold title={title} note={view ? checkPhrase(view, view.seconds) : ''} open={isRed}>
      <Text part={check.output} />
    </Fold>
  );
}

function Text({ part }: { readonly part: Part }) {
  return (
    <>
      <Scrolled dir="auto">{part.text === '' ? '(nothing)' : part.text}</Scrolled>
      <Left part={part} />
    </>
  );
}

function sizeOf({ text, left }: Part): string {
  return `${compact(text.length + left)} characters`;
}

function factsOf(iteration: IterationView): readonly string[] {
  const { outcome, attempts, prompt, toolCalls, toolErrors, usage, seconds, agent } = iteration;
  const turn = outcome ? turnPhrase(outcome) : undefined;
  return [
    ...(agent === '' ? [] : [agent]),
    ...(turn === undefined ? [] : [turn]),
    ...(attempts > 1 ? [counted(attempts, 'attempt')] : []),
    ...(toolCalls === null ? [] : [counted(toolCalls, 'tool call')]),
    ...(toolErrors ? [counted(toolErrors, 'error')] : []),
    ...(usage ? usagePhrases(usage) : []),
    ...(prompt ? [`prompt: ${promptPhrase(prompt)}`] : []),
    ...timePhrases(seconds),
  ];
}
