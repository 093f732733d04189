/** A card of the page with its title. In a file of its own, so that no section imports the page that shows it. */
import type { ComponentChildren, ComponentProps } from 'preact';

export function Section({ title, note, children }: SectionProps) {
  const id = `section-${title.toLowerCase().replace(/\W+/g, '-')}`;
  return (
    <section class="card" aria-labelledby={id}>
      <header class="card-head">
        <h2 id={id}>{title}</h2>
        {note}
      </header>
      {children}
    </section>
  );
}

interface SectionProps {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** Text that scrolls. */
export function Scrolled(props: ComponentProps<'pre'>) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
  return <pre tabIndex={0} {...props} />;
}

/** Words in which what is in backticks is code. */
export function withCode(text: string): ComponentChildren {
  return text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}
