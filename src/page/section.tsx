/** A card of the page with its title, and a part of one that is folded. In a file of its own, so that no section imports the page that shows it. */
import type { ComponentChildren, ComponentProps } from 'preact';
import { useState } from 'preact/hooks';

interface SectionProps {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly children?: ComponentChildren;
}

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

interface FoldProps {
  readonly title: ComponentChildren;
  readonly note: string;
  readonly open?: boolean;
  readonly children: ComponentChildren;
}

/** What is closed is not in the document: a closed text of a megabyte costs nothing. */
export function Fold({ title, note, open = false, children }: FoldProps) {
  const [isOpen, setOpen] = useState(open);
  return (
    <details class="fold" open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="fold-title">{title}</span> <small>{note}</small>
      </summary>
      {isOpen && <div class="fold-body">{children}</div>}
    </details>
  );
}

/** A link, where there is an address. */
export function Linked({ href, children }: { readonly href: string | undefined; readonly children: string }) {
  return href === undefined ? children : <a href={href}>{children}</a>;
}

interface StripProps {
  readonly look: string;
  readonly columns: number;
  readonly label: string;
  readonly style?: { readonly maxWidth: string };
  readonly onClick?: (event: MouseEvent & { currentTarget: Element }) => void;
  readonly children: ComponentChildren;
}

/** Shapes in columns, drawn as wide as there is room. A click is a shortcut for the mouse: what it leads to is in a list for the keyboard, too. */
export function Strip({ look, columns, label, children, ...more }: StripProps) {
  const box = { viewBox: `0 0 ${columns} 100`, preserveAspectRatio: 'none' };
  return (
    <svg class={look} {...box} role="img" aria-label={label} {...more}>
      {children}
    </svg>
  );
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
