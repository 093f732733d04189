import { expect, test } from 'vitest';
import { refuseWindows } from '../../src/platform/node-version.ts';
import { ralph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';

test('on Windows every command but help is refused, and WSL is named', async () => {
  const place = folder();
  place.write('windows.cjs', "Object.defineProperty(process, 'platform', { value: 'win32' });");
  const env = { NODE_OPTIONS: `--require "${place.path('windows.cjs')}"` };
  for (const command of ['demo', 'doctor', 'loop']) {
    const { code, stderr } = await ralph([command], { cwd: place.dir, env });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^ralph: Windows: .*WSL.*wsl --install/)]);
  }
  expect(await ralph(['--help'], { cwd: place.dir, env })).toMatchObject({ code: 0, stderr: '' });
});

test('nowhere else', () => {
  expect([refuseWindows('linux'), refuseWindows('darwin')]).toEqual([undefined, undefined]);
});
