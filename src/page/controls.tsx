/** What a user can do to a running run: the same four things as in a terminal. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { giveOrder, type Order, type Place } from './server.ts';

interface ControlsProps {
  readonly place: Place;
  readonly isPaused: boolean;
}

export function Controls({ place, isPaused }: ControlsProps) {
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
      <Tell onTell={text => order({ kind: 'tell', text })} />
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

function Tell({ onTell }: { readonly onTell: (text: string) => void }) {
  const [hint, setHint] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (hint.trim() === '') return;
    onTell(hint);
    setHint('');
  };
  return (
    <form class="tell" onSubmit={submit}>
      <label class="hidden" for="hint">
        Hint for the agent
      </label>
      <input
        id="hint"
        dir="auto"
        value={hint}
        placeholder="A hint for the agent, added to the prompt of its next iteration"
        maxLength={100_000}
        onInput={event => setHint(event.currentTarget.value)}
      />
      <button type="submit" class="action">
        Send
      </button>
    </form>
  );
}
