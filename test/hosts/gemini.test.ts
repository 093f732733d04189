import { hostSuite } from './suite.ts';

// The exit code is the status without its upper bits.
hostSuite('gemini', {
  errors: {
    401: { exit: 401 & 255, requests: 1, event: 'result', says: 'scripted words 401' },
    429: { exit: 429 & 255, requests: 1, event: 'result', says: '[API Error: scripted words 429]' },
    500: { exit: 500 & 255, requests: 1, event: 'result', says: 'scripted words 500' },
  },
});
