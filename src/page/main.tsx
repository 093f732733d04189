/** The entry of the page: the file itself says which of the three pages it is. */
import { render } from 'preact';
import { useMemo } from 'preact/hooks';
import type { IterationDetail, RunReading } from '../report/run-view.ts';
import type { RunsFigures } from '../report/runs-figures.ts';
import { AllRuns } from './all-runs.tsx';
import type { LinkTo } from './board.tsx';
import { Dashboard } from './dashboard.tsx';
import { embedded, type FindDetail, type PageData } from './data.ts';
import { Run } from './run.tsx';
import { useHash } from './time.ts';

const data = embedded<PageData>('data');
const app = document.getElementById('app');
if (data && app) {
  app.replaceChildren();
  render(<Page data={data} />, app);
}

function Page({ data }: { readonly data: PageData }) {
  switch (data.kind) {
    case 'run':
      return <Report run={data.run} children={data.children ?? []} />;
    case 'all':
      return <Runs figures={data.figures} />;
    case 'dashboard':
      return <Dashboard canStart={data.canStart} />;
    default:
      return data satisfies never;
  }
}

/** One file cannot hold every word of every run. */
const LEFT_OUT: FindDetail = async () => null;

/** Many runs, or one of them: the address says which. */
function Runs({ figures }: { readonly figures: RunsFigures }) {
  const hash = useHash();
  const runs = useMemo(() => embedded<readonly RunReading[]>('runs') ?? [], []);
  const chosen = runs.find(({ id }) => `#${id}` === hash);
  const linkTo: LinkTo = id => (runs.some(run => run.id === id) ? `#${id}` : undefined);
  if (!chosen) return <AllRuns figures={figures} linkTo={linkTo} />;
  return (
    <>
      <p class="up">
        <a href="#all">← all runs</a>
      </p>
      <Run key={chosen.id} run={chosen} find={LEFT_OUT} />
    </>
  );
}

/** One run, or one of those that belong to it: the address says which. */
function Report({ run, children }: { readonly run: RunReading; readonly children: readonly RunReading[] }) {
  const hash = useHash();
  const chosen = children.find(({ id }) => `#${id}` === hash) ?? run;
  const linkTo: LinkTo = id =>
    id === run.id ? '#' : children.some(child => child.id === id) ? `#${id}` : undefined;
  const find: FindDetail = iteration =>
    findEmbedded(chosen === run ? iteration : `${chosen.id} ${iteration}`);
  return <Run key={chosen.id} run={chosen} find={find} linkTo={linkTo} />;
}

let details: Readonly<Record<string, IterationDetail>> | undefined;

/** Read when somebody first asks: there may be megabytes of it. */
async function findEmbedded(iteration: number | string): Promise<Awaited<ReturnType<FindDetail>>> {
  details ??= embedded('details') ?? {};
  return details[iteration] ?? null;
}
