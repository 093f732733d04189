/** What a terminal showed, as a picture that scales: text with colours, drawn column by column. */
import { displayWidth, harmless } from '../../src/platform/text.ts';

const COLUMN = 8.4;
const ROW = 20;
const MARGIN = 18;

const COLORS: Readonly<Record<string, string>> = {
  31: '#ff8078',
  32: '#5cc98c',
  33: '#e8b75a',
  36: '#7fd0e0',
};

interface Look {
  readonly color: string;
  readonly bold: boolean;
  readonly dim: boolean;
}

const PLAIN: Look = { color: '#e9e9e6', bold: false, dim: false };

export function terminalSvg(screen: string, title: string): string {
  // Signs of terminals that few fonts of browsers have, or have as a coloured picture.
  const lines = screen.trimEnd().replaceAll('⏺', '●').replaceAll('⎿', '└').split('\n');
  const columns = Math.max(...lines.map(line => displayWidth(harmless(line))));
  const width = Math.round(columns * COLUMN + 2 * MARGIN);
  const height = lines.length * ROW + 2 * MARGIN;
  let look = PLAIN;
  const rows = lines.map((line, at) => {
    const next = row(line, look, MARGIN + (at + 0.75) * ROW);
    look = next.look;
    return next.svg;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<rect width="100%" height="100%" rx="10" fill="#15181c"/>
<g font-family="ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" xml:space="preserve">
${rows.filter(Boolean).join('\n')}
</g>
</svg>
`;
}

/** Word by word, each where its columns are, whatever font there is. */
function row(line: string, before: Look, y: number): { readonly svg: string; readonly look: Look } {
  let look = before;
  let column = 0;
  let svg = '';
  for (const piece of line.split(/(\x1b\[[\d;]*m)/)) {
    const codes = /^\x1b\[([\d;]*)m$/.exec(piece)?.[1];
    if (codes !== undefined) for (const code of codes.split(';')) look = changed(look, code);
    else {
      for (const word of harmless(piece).split(/( +)/)) {
        const wide = displayWidth(word);
        if (word.trim() !== '') svg += drawn(word, look, MARGIN + column * COLUMN, y, wide * COLUMN);
        column += wide;
      }
    }
  }
  return { svg, look };
}

function drawn(text: string, { color, bold, dim }: Look, x: number, y: number, length: number): string {
  const weight = bold ? ' font-weight="700"' : '';
  const faint = dim ? ' opacity="0.62"' : '';
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${color}"${weight}${faint} textLength="${length.toFixed(1)}">${escaped(text)}</text>`;
}

function changed(look: Look, code: string): Look {
  if (code === '' || code === '0') return PLAIN;
  if (code === '1') return { ...look, bold: true };
  if (code === '2') return { ...look, dim: true };
  if (code === '22') return { ...look, bold: false, dim: false };
  if (code === '39') return { ...look, color: PLAIN.color };
  return { ...look, color: COLORS[code] ?? look.color };
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, sign => `&#${sign.charCodeAt(0)};`);
}
