import { hostSuite } from './suite.ts';

hostSuite('opencode', {
  errors: {
    401: { exit: 1, requests: 1, event: 'error', says: '"message":"scripted words 401","statusCode":401' },
    429: { exit: 1, requests: 6, event: 'error', says: '"message":"scripted words 429","statusCode":429' },
    500: { exit: 1, requests: 6, event: 'error', says: '"message":"scripted words 500","statusCode":500' },
  },
});
