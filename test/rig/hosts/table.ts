/** Every host, by name. */
import { amp } from './amp.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { gemini } from './gemini.ts';
import type { Host, HostName } from './host.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';
import { qwen } from './qwen.ts';

export const HOSTS: Readonly<Record<HostName, Host>> = {
  claude,
  codex,
  opencode,
  gemini,
  copilot,
  qwen,
  amp,
  pi,
};
