/** The board of a parallel run on a terminal: a section for each state, so that it fits any width. */
import { displayWidth, oneLine, wrap } from '../platform/text.ts';
import type { BoardColumn, BoardView, LaneCard } from './board-view.ts';
import { hanging, mark, type Paint, paint, type Style } from './style.ts';

const COLORS: Partial<Record<BoardColumn['state'], Paint>> = {
  building: 'cyan',
  reviewing: 'cyan',
  queued: 'yellow',
  landed: 'green',
  needs_you: 'red',
};

export function boardLines(board: BoardView, style: Style): readonly string[] {
  const { columns, landed, total, money, waits } = board;
  const all = columns.flatMap(({ lanes }) => lanes);
  const ids = Math.min(MOST_ID, Math.max(0, ...all.map(({ id }) => displayWidth(id))));
  const dot = mark(style, 'dot');
  return [
    ...wrap([`${landed} of ${total} landed`, ...(money === '' ? [] : [money])].join(dot), style.width),
    ...columns.flatMap(({ name, state, lanes }) =>
      lanes.length === 0
        ? []
        : [
            '',
            paint(style, 'bold', paint(style, COLORS[state] ?? 'dim', `${name} (${lanes.length})`)),
            ...lanes.flatMap(lane => laneLines(lane, ids, style)),
          ],
    ),
    ...(waits.length === 0
      ? []
      : ['', paint(style, 'bold', 'Waits for'), ...waits.flatMap(text => hanging(style, ' -', text))]),
  ];
}

const MOST_ID = 20;
const NARROWEST = 20;

/** Its title, and below it what is to be known; of what has landed only a line. */
function laneLines({ id, title, facts, why, state }: LaneCard, ids: number, style: Style): readonly string[] {
  const name = oneLine(id, MOST_ID);
  const indent = ids + 4;
  const room = Math.max(NARROWEST, style.width - indent);
  const words = facts.join(mark(style, 'dot'));
  const head = `  ${name}${' '.repeat(Math.max(0, ids - displayWidth(name)))}  ${oneLine(title, room)}`;
  const below = (text: string, color?: Paint) =>
    text === ''
      ? []
      : wrap(text, room).map(
          line => `${' '.repeat(indent)}${color ? paint(style, color, line.trimEnd()) : line.trimEnd()}`,
        );
  return [head, ...below(words, 'dim'), ...below(why, state === 'needs_you' ? 'red' : 'yellow')];
}
