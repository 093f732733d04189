/** What the run has used, iteration by iteration. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { dollars, totalTokens } from '../domain/turn/usage.ts';
import { compact } from '../report/numbers.ts';
import type { IterationView } from '../report/run-view.ts';
import { Section } from './section.tsx';

export function Curves({ iterations }: { readonly iterations: readonly IterationView[] }) {
  const cost = useMemo(() => curve(iterations, ({ total }) => total?.cost), [iterations]);
  const tokens = useMemo(() => curve(iterations, ({ total }) => totalTokens(total?.tokens)), [iterations]);
  if (!cost && !tokens) return null;
  return (
    <Section title="Usage">
      <div class="curves">
        {cost && <Curve name="Cost" data={cost} say={dollars} ink="--agent" />}
        {tokens && <Curve name="Tokens" data={tokens} say={compact} ink="--checks" />}
      </div>
    </Section>
  );
}

type Points = readonly [xs: readonly number[], ys: readonly (number | null)[]];

/** undefined: one point is no curve, and what is unknown is not drawn as zero. */
function curve(
  iterations: readonly IterationView[],
  figure: (iteration: IterationView) => number | undefined,
): Points | undefined {
  const known = iterations.filter(iteration => figure(iteration) !== undefined);
  if (known.length < 2) return undefined;
  return [known.map(({ number }) => number), known.map(iteration => figure(iteration) ?? null)];
}

interface CurveProps {
  readonly name: string;
  readonly data: Points;
  readonly say: (value: number) => string;
  /** The variable that holds its colour. */
  readonly ink: string;
}

const HEIGHT = 180;

function Curve({ name, data, say, ink }: CurveProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const plot = new uPlot(
      options({ say, ink, width: element.clientWidth, onPoint: setPointed }),
      points(data),
      element,
    );
    chart.current = plot;
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const repaint = () => plot.redraw(false, true);
    scheme.addEventListener('change', repaint);
    return () => {
      scheme.removeEventListener('change', repaint);
      resize.disconnect();
      plot.destroy();
    };
  }, [say, ink]);
  useEffect(() => chart.current?.setData(points(data)), [data]);
  const last = data[1].at(-1) ?? 0;
  const at = pointed === null ? undefined : data[0][pointed];
  const value = pointed === null ? last : (data[1][pointed] ?? last);
  const label = `${name} over ${data[0].length} iterations, ${say(last)} at the end`;
  return (
    <figure class="curve">
      <figcaption>
        {name} <strong>{say(value)}</strong> {at !== undefined && `after iteration ${at}`}
      </figcaption>
      <div ref={place} role="img" aria-label={label} />
    </figure>
  );
}

function points([xs, ys]: Points): uPlot.AlignedData {
  return [[...xs], [...ys]];
}

interface Looks extends Pick<CurveProps, 'say' | 'ink'> {
  readonly width: number;
  /** The position of the point under the mouse; null: none. */
  readonly onPoint: (at: number | null) => void;
}

function options({ say, ink, width, onPoint }: Looks): uPlot.Options {
  const axis = {
    stroke: () => color('--muted'),
    grid: { stroke: () => color('--line'), width: 1 },
    ticks: { show: false },
    font: FONT,
  };
  return {
    width,
    height: HEIGHT,
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { setScale: false } },
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
    scales: { x: { time: false }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] } },
    axes: [
      { ...axis, size: 28, incrs: WHOLE },
      { ...axis, size: 58, values: (_, splits) => splits.map(split => say(split).replace(/\.00$/, '')) },
    ],
    series: [
      {},
      { stroke: () => color(ink), fill: () => `${color(ink)}1f`, width: 2, points: { show: false } },
    ],
  };
}

const FONT = '12px system-ui, sans-serif';
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

function color(variable: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}
