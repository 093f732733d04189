/** What counts as a promise in a final message, and what only talks about one. */
import { describe, expect, test } from 'vitest';
import { claimIn } from '../../src/domain/session-claim.ts';

const DONE = '<promise>DONE</promise>';
const claim = (...texts: readonly string[]) => claimIn(texts, { kind: 'promise', text: 'DONE' });

describe('a promise', () => {
  test.each([
    DONE,
    `All tests pass. ${DONE}`,
    `I did not change the API. ${DONE}`,
    `There are no failures left: ${DONE}`,
    `**${DONE}**`,
    `At once: ${DONE}`,
    `It ran once ${DONE}`,
    `Not <promise>X</promise> but ${DONE}`,
    `- ${DONE}`,
    `I ran \`npm test\` and it is green. ${DONE}`,
    `\`\`\`\nnpm test\n\`\`\`\n${DONE}`,
    `It's all in place, and that's it: ${DONE}`,
    `${DONE}\n\nNot part of this: the docs.`,
    `I must not say ${DONE} yet.\nNow I am through:\n${DONE}`,
  ])('counts: %j', text => {
    expect(claim(text)).toEqual({ found: true });
  });

  test.each([
    `\`${DONE}\``,
    `\`echo ${DONE}\` would end it`,
    `\`\`${DONE}\`\``,
    `"${DONE}"`,
    `The rule says “${DONE}”.`,
    `> ${DONE}`,
    `<code>${DONE}</code>`,
    `<!-- ${DONE} -->`,
    `~~${DONE}~~`,
  ])('that is quoted does not: %j', text => {
    expect(claim(text)).toMatchObject({ found: false, nearMiss: 'quoted' });
  });

  test.each([
    `I must not say ${DONE} yet`,
    `The tests fail, so no ${DONE}`,
    `No ${DONE} from me.`,
    `I refuse to say ${DONE}.`,
    `I'm withholding ${DONE} for now`,
    `I can only write ${DONE} once tests pass`,
    `Saying ${DONE} now would be a lie.`,
    `${DONE} is premature.`,
    `I can’t output ${DONE}`,
  ])('that is denied or put off does not: %j', text => {
    expect(claim(text)).toMatchObject({ found: false, nearMiss: 'mentioned' });
  });

  test.each([`\`\`\`\n${DONE}`, `~~~text\n${DONE}\n~~~`, `> \`\`\`\n> ${DONE}\n> \`\`\``])(
    'in a code block does not: %j',
    text => {
      expect(claim(text)).toMatchObject({ found: false, nearMiss: 'fenced' });
    },
  );
});
