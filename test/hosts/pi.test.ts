import { hostSuite } from './suite.ts';

hostSuite('pi', {
  errors: {
    401: { exit: 0, requests: 1, event: 'message_end', says: '"errorMessage":"401: ' },
    429: { exit: 0, requests: 1, event: 'message_end', says: '"errorMessage":"429: ' },
    500: { exit: 0, requests: 1, event: 'message_end', says: '"errorMessage":"500: ' },
  },
});
