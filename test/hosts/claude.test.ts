import { hostSuite } from './suite.ts';

hostSuite('claude', {
  errors: {
    401: {
      exit: 1,
      requests: 1,
      event: 'result',
      says: 'Failed to authenticate. API Error: 401 scripted words 401',
    },
    429: {
      exit: 1,
      requests: 1,
      event: 'result',
      says: 'API Error: Request rejected (429) · scripted words 429',
    },
    500: { exit: 1, requests: 1, event: 'result', says: 'API Error: 500 scripted words 500' },
  },
});
