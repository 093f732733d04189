import { hostSuite } from './suite.ts';

hostSuite('copilot', {
  errors: {
    401: { exit: 1, requests: 3, event: 'session.error', says: 'Authentication failed with provider' },
    429: { exit: 1, requests: 6, event: 'session.error', says: 'Last error: 429 scripted words 429' },
    500: { exit: 1, requests: 6, event: 'session.error', says: 'Last error: 500 scripted words 500' },
  },
});
