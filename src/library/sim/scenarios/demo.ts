/** The demo: a small cart with two bugs, and an agent that fixes one, says it is done, and is not believed. */
import type { Scenario } from '../scenario.ts';

const CART = `// A shopping cart. Prices are in cents.
export function total(items) {
  let sum = 0;
  for (const item of items) sum += item.price;
  return sum;
}

export function discounted(items, percent) {
  return total(items) * (1 - percent / 100);
}
`;

const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discounted, total } from './cart.js';

test('the total counts every piece', () => {
  assert.equal(total([{ price: 250, quantity: 2 }, { price: 99, quantity: 1 }]), 599);
});

test('a discount is rounded to whole cents', () => {
  assert.equal(discounted([{ price: 333, quantity: 1 }], 10), 300);
});
`;

const GUARDRAIL = 'node --test';

const PROMPT = `The tests of this cart fail. Read cart.js and cart.test.js, fix cart.js, and leave the tests as they are.
When every test passes, say <promise>COMPLETE</promise>.
`;

const SCENARIO: Scenario = {
  commitMessage: 'Count quantities and round discounts to whole cents',
  turns: [
    {
      when: `Guardrail "${GUARDRAIL}" failed`,
      steps: [
        { say: 'A test still fails, so I was wrong to say that I was done. Let me look at it.' },
        { shell: 'node --test --test-reporter=tap 2>&1 | grep -E "^ *(not ok|expected|actual)" | head -4' },
        { say: 'The discount is not rounded.' },
        {
          replace: 'cart.js',
          old: 'return total(items) * (1 - percent / 100);',
          new: 'return Math.round(total(items) * (1 - percent / 100));',
        },
        { shell: 'node --test --test-reporter=tap 2>&1 | grep -E "^# (pass|fail)"' },
        {
          todo: [
            { content: 'Count the quantity in total()', status: 'completed' },
            { content: 'Round the discount', status: 'completed' },
            { content: 'Run the tests', status: 'completed' },
          ],
        },
        { say: 'Both tests pass now. <promise>COMPLETE</promise>' },
      ],
    },
    {
      steps: [
        { say: 'I will read the code first.' },
        { read: 'cart.js' },
        {
          todo: [
            { content: 'Count the quantity in total()', status: 'in_progress' },
            { content: 'Round the discount', status: 'pending' },
            { content: 'Run the tests', status: 'pending' },
          ],
        },
        { replace: 'cart.js', old: 'sum += item.price;', new: 'sum += item.price * item.quantity;' },
        { say: 'The total now counts quantities. That should be all. <promise>COMPLETE</promise>' },
      ],
    },
  ],
};

export const DEMO = {
  files: {
    'cart.js': CART,
    'cart.test.js': TEST,
    'package.json': '{ "name": "cart", "private": true, "type": "module" }\n',
    'PROMPT.md': PROMPT,
  },
  prompt: 'PROMPT.md',
  guardrail: GUARDRAIL,
  scenario: SCENARIO,
};
