/** OpenCode: no stop hook; the plugin puts its continuation in before the session has ended. */
import { describeLoop } from './in-session.ts';
import { withoutInstalling } from './opencode-offline.ts';

describeLoop('opencode', { before: withoutInstalling });
