import { expect, test } from 'vitest';
import { describeWithPostgres, startPostgres } from '../rig/postgres.ts';
import { isThere } from '../rig/processes.ts';

describeWithPostgres('a real PostgreSQL for a test', () => {
  test('starts, crashes, comes back on its port with its data, and leaves nothing', async () => {
    const postgres = await startPostgres();
    await postgres.sql('create table kept as select $1::int as value', [7]);
    const [first] = [postgres.pid() ?? 0];
    await postgres.stop('immediate');
    expect(isThere(first)).toBe(false);
    await expect(postgres.sql('select 1')).rejects.toThrow('ECONNREFUSED');

    await postgres.start();
    expect(await postgres.sql('select value from kept')).toEqual([{ value: 7 }]);
    const second = postgres.pid() ?? 0;
    await postgres.close();
    expect(isThere(second)).toBe(false);
  });
});
