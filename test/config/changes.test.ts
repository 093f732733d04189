import { expect, test } from 'vitest';
import { defaultSettings, listSettingChanges } from '../../src/config/settings.ts';

const now = { ...defaultSettings('loop') };

test('a setting that an older version did not know is no change while it has its default', () => {
  const { checkRetries: _, ...older } = now;
  expect(listSettingChanges('loop', older, now)).toEqual([]);
  expect(listSettingChanges('loop', older, { ...now, checkRetries: 2 })).toEqual([
    'checkRetries: was 0, is 2',
  ]);
});

test('what was set and is not any more is a change, and the other way round', () => {
  expect(listSettingChanges('loop', { ...now, maxCost: 5 }, now)).toEqual(['maxCost: was 5, is not set']);
  expect(listSettingChanges('loop', now, { ...now, maxCost: 5 })).toEqual(['maxCost: was not set, is 5']);
});
