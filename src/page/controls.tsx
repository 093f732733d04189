/** What a user can do to a running run: the same things as in a terminal. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { questionWords } from '../domain/stories/questions.ts';
import type { OpenQuestion } from '../report/run-view.ts';
import { giveOrder, type Order, type Place } from './server.ts';

interface ControlsProps {
  readonly place: Place;
  readonly isPaused: boolean;
  readonly questions: readonly OpenQuestion[];
}

export function Controls({ place, isPaused, questions }: ControlsProps) {
  const [isSure, setSure] = useState(false);
  const { said, order: send } = useOrders(place);
  const order = (what: Order) => {
    setSure(false);
    send(what);
  };
  return (
    <section class="controls" aria-label="Steer this run">
      <AnswerFields questions={questions} order={order} />
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

/** Of a run that has stopped: what its stories ask; the answers are kept until it is resumed. */
export function Answers({ place, questions }: Omit<ControlsProps, 'isPaused'>) {
  const { said, order } = useOrders(place);
  return (
    <section class="controls" aria-label="Answer its questions">
      <AnswerFields questions={questions} order={order} />
      <p class="said" role="status">
        {said}
      </p>
    </section>
  );
}

interface AnswerFieldsProps extends Pick<ControlsProps, 'questions'> {
  readonly order: (what: Order) => void;
}

function AnswerFields({ questions, order }: AnswerFieldsProps) {
  return (
    <>
      {questions.map(({ story, question }) => (
        <Words
          key={story}
          id={`answer-${story}`}
          label={questionWords({ story, question })}
          isAsked
          placeholder="Your answer"
          onSend={text => order({ kind: 'answer', story, text })}
        />
      ))}
    </>
  );
}

/** Sends orders, and shows what became of the last one. */
function useOrders(place: Place) {
  const [said, setSaid] = useState('');
  const order = (what: Order) =>
    void giveOrder(place, what).then(
      ({ message }) => setSaid(message),
      error => setSaid(error instanceof Error ? error.message : String(error)),
    );
  return { said, order };
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

/** Asks once more before it does it. What is pressed goes away: the focus moves to what takes its place. */
function Cancel({ isSure, onAsk, onCancel }: CancelProps) {
  const place = useRef<HTMLDivElement>(null);
  const wasSure = useRef(isSure);
  useLayoutEffect(() => {
    if (wasSure.current !== isSure) place.current?.querySelector<HTMLElement>('button:last-child')?.focus();
    wasSure.current = isSure;
  }, [isSure]);
  return (
    <div ref={place}>
      {isSure ? (
        <Sure onAsk={onAsk} onCancel={onCancel} />
      ) : (
        <Action onClick={() => onAsk(true)}>Cancel…</Action>
      )}
    </div>
  );
}

function Sure({ onAsk, onCancel }: Omit<CancelProps, 'isSure'>) {
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
  /** Somebody waits for it: the label is a question that everybody must see. */
  readonly isAsked?: boolean;
  readonly placeholder: string;
  readonly onSend: (text: string) => void;
}

function Words({ id, label, isAsked = false, placeholder, onSend }: WordsProps) {
  const [words, setWords] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (words.trim() === '') return;
    onSend(words);
    setWords('');
  };
  return (
    <form class={isAsked ? 'tell is-asked' : 'tell'} onSubmit={submit}>
      <label class={isAsked ? 'asked' : 'hidden'} for={id} dir="auto">
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
