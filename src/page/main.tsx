/** The entry of the page: the file itself says which of the three pages it is. */
import { render } from 'preact';
import type { IterationDetail } from '../report/run-view.ts';
import { AllRuns } from './all-runs.tsx';
import { Dashboard } from './dashboard.tsx';
import { embedded, type FindDetail, type PageData } from './data.ts';
import { Run } from './run.tsx';

const data = embedded<PageData>('data');
const app = document.getElementById('app');
if (data && app) {
  app.replaceChildren();
  render(<Page data={data} />, app);
}

function Page({ data }: { readonly data: PageData }) {
  switch (data.kind) {
    case 'run':
      return <Run run={data.run} find={findEmbedded} />;
    case 'all':
      return <AllRuns figures={data.figures} />;
    case 'dashboard':
      return <Dashboard />;
    default:
      return data satisfies never;
  }
}

let details: Readonly<Record<string, IterationDetail>> | undefined;

/** Read when somebody first asks: there may be megabytes of it. */
async function findEmbedded(iteration: number): Promise<Awaited<ReturnType<FindDetail>>> {
  details ??= embedded('details') ?? {};
  return details[iteration] ?? null;
}
