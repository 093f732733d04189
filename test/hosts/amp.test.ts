import { hostSuite } from './suite.ts';

hostSuite('amp', {
  letters: 'ascii',
  errors: {
    401: { exit: 0, requests: 1, event: 'result', says: 'Unauthorized Check your access token.' },
    429: { exit: 0, requests: 1, event: 'result', says: '"error":"429 ' },
    500: { exit: 0, requests: 1, event: 'result', says: '"error":"500 ' },
  },
});
