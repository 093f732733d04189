/** What a user can do to a running run: the same things as in a terminal. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { questionWords } from '../domain/question.ts';
import type { OpenQuestion } from '../report/run-view.ts';
import { giveOrder, type Order, type Place } from './server.ts';

interface ControlsProps {
  readonly place: Place;
  readonly isPaused: boolean;
  readonly questions: readonly OpenQuestion[];
}

export function Controls({ place, isPaused, questions }: ControlsProps) {
  const [said, setSaid] = useState('');
  const [isSure, setSure] = useState(false);
  const order = (what: Order) => {
    setSure(false);
    giveOrder(place, what).then(
      ({ message }) => setSaid(message),
      error => setSaid(error instanceof Error ? error.message : String(error)),
    );
  };
  return (
    <section class="controls" aria-label="Steer this run">
      <div class="buttons">
        {isPaused ? (
          <Action look=" is-first" onClick={() => order({ kind: 'continue' })}>
            Continue
          </Action>
        ) : (
          <Action onClick={() => order({ kind: 'pause' })}>Pause</Action>
        )}
        <Cancel isSure={isSure} onAsk={setSure} onCancel={gently => order({ kind: 'cancel', gently })} />
      </div>
      {questions.map(({ story, question }) => (
        <Words
          key={story}
          id={`answer-${story}`}
          label={`Answer to ${story}`}
          placeholder={questionWords({ story, question })}
          onSend={text => order({ kind: 'answer', story, text })}
        />
      ))}
      <Words
        id="hint"
        label="Hint for the agent"
        placeholder="A hint for the agent, added to the prompt of its next iteration"
        onSend={text => order({ kind: 'tell', text })}
      />
      <p class="said" role="status">
        {said}
      </p>
    </section>
  );
}

interface ActionProps {
  readonly look?: string;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
}

function Action({ look = '', onClick, children }: ActionProps) {
  return (
    <button type="button" class={`action${look}`} onClick={onClick}>
      {children}
    </button>
  );
}

interface CancelProps {
  readonly isSure: boolean;
  readonly onAsk: (isSure: boolean) => void;
  readonly onCancel: (gently: boolean) => void;
}

/** Asks once more before it does it. */
function Cancel({ isSure, onAsk, onCancel }: CancelProps) {
  if (!isSure) return <Action onClick={() => onAsk(true)}>Cancel…</Action>;
  return (
    <fieldset class="sure">
      <legend>Cancel this run?</legend>
      <Action look=" is-bad" onClick={() => onCancel(false)}>
        Now
      </Action>
      <Action onClick={() => onCancel(true)}>After this step</Action>
      <Action onClick={() => onAsk(false)}>No</Action>
    </fieldset>
  );
}

interface WordsProps {
  readonly id: string;
  readonly label: string;
  readonly placeholder: string;
  readonly onSend: (text: string) => void;
}

function Words({ id, label, placeholder, onSend }: WordsProps) {
  const [words, setWords] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (words.trim() === '') return;
    onSend(words);
    setWords('');
  };
  return (
    <form class="tell" onSubmit={submit}>
      <label class="hidden" for={id}>
        {label}
      </label>
      <input
        id={id}
        dir="auto"
        value={words}
        placeholder={placeholder}
        title={placeholder}
        maxLength={100_000}
        onInput={event => setWords(event.currentTarget.value)}
      />
      <button type="submit" class="action">
        Send
      </button>
    </form>
  );
}
