/** What a user can do to a run that goes on: the same four things as in a terminal. */
import { useState } from 'preact/hooks';
import { giveOrder, type Order, type Place } from './server.ts';

interface ControlsProps {
  readonly place: Place;
  readonly isPaused: boolean;
}

export function Controls({ place, isPaused }: ControlsProps) {
  const [said, setSaid] = useState('');
  const [isSure, setSure] = useState(false);
  const [hint, setHint] = useState('');
  const order = (what: Order) => {
    setSure(false);
    giveOrder(place, what).then(
      ({ message }) => setSaid(message),
      error => setSaid(error instanceof Error ? error.message : String(error)),
    );
  };
  const tell = (event: Event) => {
    event.preventDefault();
    if (hint.trim() === '') return;
    order({ kind: 'tell', text: hint });
    setHint('');
  };
  return (
    <section class="controls" aria-label="Steer this run">
      <div class="buttons">
        {isPaused ? (
          <button type="button" class="action is-first" onClick={() => order({ kind: 'continue' })}>
            Continue
          </button>
        ) : (
          <button type="button" class="action" onClick={() => order({ kind: 'pause' })}>
            Pause
          </button>
        )}
        {isSure ? (
          <fieldset class="sure">
            <legend>End this run?</legend>
            <button
              type="button"
              class="action is-bad"
              onClick={() => order({ kind: 'cancel', gently: false })}
            >
              Now
            </button>
            <button type="button" class="action" onClick={() => order({ kind: 'cancel', gently: true })}>
              After this step
            </button>
            <button type="button" class="action" onClick={() => setSure(false)}>
              No
            </button>
          </fieldset>
        ) : (
          <button type="button" class="action" onClick={() => setSure(true)}>
            Cancel…
          </button>
        )}
      </div>
      <form class="tell" onSubmit={tell}>
        <label class="hidden" for="hint">
          Say to the agent
        </label>
        <input
          id="hint"
          dir="auto"
          value={hint}
          placeholder="Say something to the agent, for its next iteration"
          maxLength={100_000}
          onInput={event => setHint(event.currentTarget.value)}
        />
        <button type="submit" class="action">
          Tell
        </button>
      </form>
      <p class="said" role="status">
        {said}
      </p>
    </section>
  );
}
