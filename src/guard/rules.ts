/** Every rule of the guard. What each looks for is in `rules/`, a row each; a name here is a name in the settings. */
import type { Rule } from './rule.ts';
import { FILE_RULES } from './rules/files.ts';
import { GIT_RULES } from './rules/git.ts';
import { NETWORK_RULES } from './rules/network.ts';
import { SERVICE_RULES } from './rules/services.ts';
import { SYSTEM_RULES } from './rules/system.ts';

export const RULES: readonly Rule[] = [
  ...FILE_RULES,
  ...GIT_RULES,
  ...NETWORK_RULES,
  ...SYSTEM_RULES,
  ...SERVICE_RULES,
];
