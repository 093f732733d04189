/** The verdict, its evidence, the next step, and the run in figures. */
import { type PullRequestState, pullRequestOf } from '../domain/forge/forge-state.ts';
import { boardUsage, parentOf } from '../domain/lanes/board.ts';
import { boardCost, type Children } from '../report/board-view.ts';
import { bestWords, endedView, headline, nextSteps } from '../report/ending-words.ts';
import { compact, counted, duration, wholeSeconds } from '../report/numbers.ts';
import {
  costPhrase,
  forkPhrase,
  iterationOf,
  promptPhrase,
  timePhrases,
  tokensPhrase,
} from '../report/phrases.ts';
import { proofs } from '../report/proofs.ts';
import { averagePrompt, elapsed, type RunReading } from '../report/run-view.ts';
import type { LinkTo } from './board.tsx';
import { Linked, Scrolled, withCode } from './section.tsx';
import { timeOfDay, useClock } from './time.ts';

const HOLDS = { yes: ['✓', 'holds'], no: ['✗', 'does not hold'], unknown: ['–', 'unknown'] } as const;

interface HeadProps {
  readonly run: RunReading;
  readonly linkTo: LinkTo;
  readonly children?: Children | undefined;
}

export function Head({ run, linkTo, children }: HeadProps) {
  const { view, state } = run;
  const parent = parentOf(run.id);
  const up = parent === undefined ? undefined : linkTo(parent);
  const { ending } = view;
  const ended = endedView(view);
  const pull = pullRequestOf(view.forge);
  const agent = view.model === null ? view.agent : `${view.agent} (${view.model})`;
  return (
    <header class={`head is-${state}`}>
      <p class="kicker">
        {up !== undefined && <a href={up}>← all lanes</a>}
        <span>ralph {view.command}</span>
        {agent !== '' && <span>{agent}</span>}
        <span class="mono">{run.id}</span>
      </p>
      {view.title !== null && (
        <p class="title" dir="auto">
          {view.title}
        </p>
      )}
      <h1>
        <span class="lamp" aria-hidden="true" />
        <bdi>{headline(run)}</bdi>
      </h1>
      {ending?.detail && (
        <p class="detail" dir="auto">
          {ending.detail}
        </p>
      )}
      {bestWords(view).map(words => (
        <p key={words} class="detail">
          {withCode(words)}
        </p>
      ))}
      {ended && <p class="detail">{withCode(`${nextSteps(ended).join('. ')}.`)}</p>}
      <div class="head-body">
        <Proofs run={run} />
        <Figures run={run} children={children} />
      </div>
      <p class="place">
        <bdi class="mono">{view.cwd}</bdi>
        {ending?.branch && (
          <span>
            branch <bdi class="mono">{ending.branch}</bdi>
          </span>
        )}
        {pull && <PullRequest pull={pull} />}
        {view.forkOf !== null && (
          <span>
            Fork of <Linked href={linkTo(view.forkOf.run)}>{forkPhrase(view.forkOf)}</Linked>
          </span>
        )}
        {view.sandbox !== null && <span>sandbox {view.sandbox}</span>}
        {view.startedAt !== null && <span>{timeOfDay(view.startedAt)}</span>}
      </p>
    </header>
  );
}

/** The address is what the ledger says: nothing but a page is linked. */
function PullRequest({ pull: { number, address, outcome } }: { readonly pull: PullRequestState }) {
  const words = `pull request #${number}`;
  const isPage = /^https?:\/\//i.test(address);
  return (
    <span>
      {isPage ? (
        <a href={address} title={address} target="_blank" rel="noopener noreferrer nofollow">
          {words}
        </a>
      ) : (
        words
      )}
      {outcome !== null && ` (${outcome.replaceAll('_', ' ')})`}
    </span>
  );
}

function Proofs({ run: { view, integrity } }: { readonly run: RunReading }) {
  return (
    <ul class="proofs" aria-label="Evidence">
      {proofs(view, integrity).map(({ holds, text, cause }) => (
        <li key={text} class={`proof is-${holds}`}>
          <span class="sign" role="img" aria-label={HOLDS[holds][1]}>
            {HOLDS[holds][0]}
          </span>
          <bdi dir="ltr">{withCode(text)}</bdi>
          {cause && cause.length > 0 && <Scrolled class="cause">{cause.join('\n')}</Scrolled>}
        </li>
      ))}
    </ul>
  );
}

function Figures({ run: { view, state }, children = {} }: Omit<HeadProps, 'linkTo'>) {
  const { ending, startedAt, board } = view;
  const usage = board ? { ...boardUsage(board), cost: boardCost(board, children) } : view.usage;
  const tokens = ending ? ending.totalTokens : usage?.tokens;
  const isRunning = state === 'running';
  const clock = useClock(isRunning);
  const ran = wholeSeconds((clock - (startedAt ?? clock)) / 1000);
  const time = isRunning ? ran : duration(elapsed(view));
  const uncounted = ending ? ending.uncountedCalls : usage?.uncounted;
  const total = tokens && compact(tokens.input + tokens.output);
  const used = total ? `${uncounted ? 'at least ' : ''}${total}` : 'unknown';
  const prompt = averagePrompt(view);
  const notes = [
    ...(tokens ? [tokensPhrase(tokens, uncounted)] : []),
    ...(prompt ? [`prompt: ${promptPhrase(prompt)}`] : []),
  ];
  return (
    <dl class="figures">
      {board ? (
        <Figure
          name="Landed"
          value={`${board.landed.length} of ${board.lanes.length}`}
          note={counted(
            board.lanes.reduce((sum, lane) => sum + lane.iterations, 0),
            'iteration',
          )}
        />
      ) : (
        <Figure name="Iterations" value={iterationOf(view.iterations.length, view.maxIterations, ' of ')} />
      )}
      <Figure
        name="Cost"
        value={
          ending
            ? costPhrase(ending.totalCost, ending.unreportedCalls)
            : costPhrase(usage?.cost, usage?.unpriced)
        }
      />
      <Figure name="Time" value={time} note={board ? '' : timePhrases(view.seconds).join(', ')} />
      <Figure name="Tokens" value={used} note={notes.join('; ')} />
    </dl>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
}

export function Figure({ name, value, note }: FigureProps) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        {value}
        {note && <small>{note}</small>}
      </dd>
    </div>
  );
}
