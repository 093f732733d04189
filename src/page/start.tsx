/** Starts a run from the page, or continues one: with the settings of its project, and what is chosen in the form. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ListedRun } from '../report/run-view.ts';
import { useFound } from './data.ts';
import {
  askOffers,
  type Chosen,
  forkRun,
  type Launched,
  type Offers,
  type Place,
  resumeRun,
  type Start,
  startRun,
} from './server.ts';

const KINDS = {
  loop: {
    name: 'Task',
    help: 'ralph loop: the checks decide, with a clean context in every iteration.',
    placeholder: 'Make the login work',
  },
  run: {
    name: 'Prompt',
    help: 'ralph run: the checks decide. Ask the agent for <promise>COMPLETE</promise> at the end.',
    placeholder: 'Fix the failing test. When all tests pass, say <promise>COMPLETE</promise>',
  },
  prd: { name: 'Stories', help: 'ralph prd run: the story list in ralph/tasks.json, story by story.' },
} as const;
type Kind = keyof typeof KINDS;

export function StartForm({ project, root }: { readonly project: number; readonly root: string }) {
  const [kind, setKind] = useState<Kind>('loop');
  const [text, setText] = useState('');
  const [worktree, setWorktree] = useState(false);
  const { said, isBusy, launch } = useLaunch(project);
  // Without them the form has the settings of the project, as they are.
  const offers = useFound(() => askOffers(project), [project]);
  const [chosen, setChosen] = useState<Chosen>({});
  const own = kind === 'loop' ? { kind, text, worktree } : kind === 'run' ? { kind, text } : { kind };
  const what: Start = { ...own, ...chosen };
  return (
    <article class="run">
      <header class="head">
        <p class="kicker">
          <bdi class="mono">{root}</bdi>
        </p>
        <h1>Start a run</h1>
      </header>
      <div class="card">
        <form
          class="start"
          onSubmit={event => {
            event.preventDefault();
            const checks = what.checks?.filter(each => each.trim() !== '');
            launch(() => startRun(project, { ...what, checks }));
          }}
        >
          <Kinds kind={kind} onPick={setKind} />
          <p id="start-help">{KINDS[kind].help}</p>
          {kind !== 'prd' && (
            <textarea
              aria-label={KINDS[kind].name}
              aria-describedby="start-help"
              dir="auto"
              rows={6}
              required
              maxLength={30_000}
              placeholder={KINDS[kind].placeholder}
              value={text}
              onInput={event => setText(event.currentTarget.value)}
            />
          )}
          {kind === 'loop' && <WorktreeBox worktree={worktree} onChange={setWorktree} />}
          {offers && <Choices {...{ offers, kind, chosen, onChange: setChosen }} />}
          <Launching said={said}>
            <button type="submit" class="action is-first" disabled={isBusy}>
              Start
            </button>
          </Launching>
        </form>
      </div>
    </article>
  );
}

interface ChoicesProps {
  readonly offers: Offers;
  readonly kind: Kind;
  readonly chosen: Chosen;
  readonly onChange: (chosen: Chosen) => void;
}

/** What is left as it is comes from the settings. */
function Choices({ offers, kind, chosen, onChange }: ChoicesProps) {
  const others = offers.agents.filter(each => each !== offers.agent);
  return (
    <>
      <label>
        Agent{' '}
        <select
          value={chosen.agent ?? ''}
          onChange={({ currentTarget: { value } }) => onChange({ ...chosen, agent: value || undefined })}
        >
          <option value="">{offers.agent ?? 'the first that is installed'}</option>
          {others.map(each => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <label>
        At most{' '}
        <input
          type="number"
          min={1}
          aria-label="Iterations at most"
          value={chosen.maxIterations ?? offers.maxIterations[kind]}
          onInput={({ currentTarget: { valueAsNumber } }) =>
            onChange({
              ...chosen,
              maxIterations: Number.isSafeInteger(valueAsNumber) ? valueAsNumber : undefined,
            })
          }
        />{' '}
        iterations
      </label>
      <CheckChoice checks={offers.checks} chosen={chosen} onChange={onChange} />
    </>
  );
}

type CheckChoiceProps = Pick<ChoicesProps, 'chosen' | 'onChange'> & Pick<Offers, 'checks'>;

function CheckChoice({ checks, chosen, onChange }: CheckChoiceProps) {
  return (
    <>
      <p>
        {checks.length === 0 ? 'The settings have no checks.' : 'Checks of the settings, which always count:'}
      </p>
      {checks.length > 0 && (
        <ul>
          {checks.map(each => (
            <li key={each}>
              <code dir="auto">{each}</code>
            </li>
          ))}
        </ul>
      )}
      <textarea
        aria-label="More checks, one a line"
        class="mono"
        rows={2}
        placeholder="More checks, one a line: npm test"
        value={chosen.checks?.join('\n') ?? ''}
        onInput={({ currentTarget: { value } }) =>
          onChange({ ...chosen, checks: value.trim() === '' ? undefined : value.split('\n') })
        }
      />
    </>
  );
}

interface WorktreeProps {
  readonly worktree: boolean;
  readonly onChange: (worktree: boolean) => void;
}

function WorktreeBox({ worktree, onChange }: WorktreeProps) {
  return (
    <label>
      <input type="checkbox" checked={worktree} onChange={event => onChange(event.currentTarget.checked)} />{' '}
      in a git worktree of its own
    </label>
  );
}

function Kinds({ kind, onPick }: { readonly kind: Kind; readonly onPick: (kind: Kind) => void }) {
  return (
    <fieldset class="filters">
      <legend class="hidden">What to start</legend>
      {(Object.keys(KINDS) as readonly Kind[]).map(each => (
        <button key={each} type="button" aria-pressed={each === kind} onClick={() => onPick(each)}>
          {KINDS[each].name}
        </button>
      ))}
    </fieldset>
  );
}

export function Resume({ place, run: { raise } }: { readonly place: Place; readonly run: ListedRun }) {
  const { said, isBusy, launch } = useLaunch(place.project);
  const more = raise ? ` with --${raise.flag} ${raise.to}` : '';
  return (
    <Launching said={said}>
      <button
        type="button"
        class="action is-first"
        disabled={isBusy}
        onClick={() => launch(() => resumeRun(place))}
      >
        Resume{more}
      </button>
    </Launching>
  );
}

interface ForkProps {
  readonly place: Place;
  /** The iteration that ended best, and the last one. */
  readonly best: number;
  readonly last: number;
}

export function Fork({ place, best, last }: ForkProps) {
  const { said, isBusy, launch } = useLaunch(place.project);
  const [at, setAt] = useState(best);
  return (
    <Launching said={said}>
      <button type="button" class="action" disabled={isBusy} onClick={() => launch(() => forkRun(place, at))}>
        Fork at iteration
      </button>
      <input
        type="number"
        min={1}
        max={last}
        aria-label="Iteration whose files the new run begins with"
        value={at}
        onInput={({ currentTarget: { valueAsNumber } }) => setAt(valueAsNumber)}
      />
    </Launching>
  );
}

function Launching({ said, children }: { readonly said: string; readonly children: ComponentChildren }) {
  return (
    <div class="controls">
      {children}
      <p class="said" role="status">
        {said}
      </p>
    </div>
  );
}

/** Shows the run that has begun, or why none has. */
function useLaunch(project: number) {
  const [said, setSaid] = useState('');
  const [isBusy, setBusy] = useState(false);
  const launch = (begin: () => Promise<Launched>) => {
    setBusy(true);
    setSaid('Starting…');
    begin()
      .then(
        ({ message, runId }) => {
          setSaid(message);
          if (runId !== undefined) location.hash = addressOf(project, runId);
        },
        error => setSaid(error instanceof Error ? error.message : String(error)),
      )
      .finally(() => setBusy(false));
  };
  return { said, isBusy, launch };
}

export function addressOf(project: number, id: string): string {
  return `#/${project}/${encodeURIComponent(id)}`;
}

/** In place of a run: no run has such a name. */
export const NEW = 'new';
