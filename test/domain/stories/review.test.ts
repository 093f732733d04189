/** What a reviewer says in its own words, and when a verdict in the list counts. */
import { describe, expect, test } from 'vitest';
import {
  createReviewScanner,
  type ReviewEvidence,
  reviewMarker,
  whyVoid,
  withoutVerdicts,
} from '../../../src/domain/stories/review.ts';

const said = (...pieces: readonly string[]) => {
  const scanner = createReviewScanner();
  for (const piece of pieces) scanner.feed(piece);
  scanner.boundary();
  return scanner.spoken().map(({ story, verdict }) => `${story} ${verdict}`);
};
const APPROVED = '<review story="US-001">approved</review>';

describe('words', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['as asked for', [APPROVED], ['US-001 approved']],
    ['in pieces', [...APPROVED], ['US-001 approved']],
    ['among other words', [`Good.\n\n${APPROVED}\n`], ['US-001 approved']],
    ['with spaces', ["<review  story = 'US-001' >\n approved \n</review >"], ['US-001 approved']],
    [
      'of two stories',
      [`${APPROVED} <review story="B">changes_requested</review>`],
      ['US-001 approved', 'B changes_requested'],
    ],
    ['in a code span', [`\`${APPROVED}\``], []],
    ['in a code span, in pieces', [...`\`${APPROVED}\``], []],
    ['in a code block', [`As in:\n\n\`\`\`\n${APPROVED}\n\`\`\`\n`], []],
    ['in a quotation', [`The prompt says "${APPROVED}", and I do not.`], []],
    ['denied', [`I cannot give ${APPROVED} for this.`], []],
    ['denied, on a line of its own', [`It does not leak any more.\n${APPROVED}`], ['US-001 approved']],
    ['put off', [`Once the tests pass I will say ${APPROVED}.`], []],
    ['asked', [`Should I say ${APPROVED}?`], []],
    [
      'denied, of the other verdict',
      [`I would not say less than ${APPROVED.replace('approved', 'changes_requested')}.`],
      ['US-001 changes_requested'],
    ],
    ['the prompt printed back', [reviewMarker('US-001')], []],
    ['something else', ['<review story="US-001">looks approved to me</review>'], []],
    ['without a story', ['<review>approved</review>'], []],
    ['never closed', ['<review story="US-001">approved'], []],
    ['a flood', ['<'.repeat(100_000), APPROVED], ['US-001 approved']],
  ])('%s', (_, pieces, expected) => {
    expect(said(...pieces)).toEqual(expected);
  });

  test.each([
    `Ich kann ${APPROVED} nicht geben.`,
    `Noch kein ${APPROVED}, der Test fehlt.`,
    `Sobald die Tests laufen, sage ich ${APPROVED}.`,
    `Das wäre zu früh: ${APPROVED}`,
    `Soll ich ${APPROVED} sagen?`,
    `Je ne peux pas dire ${APPROVED}.`,
    `Quand les tests passeront : ${APPROVED}`,
    `Dois-je donner ${APPROVED} ?`,
    `No puedo dar ${APPROVED} todavía.`,
    `¿Debo decir ${APPROVED}?`,
    `Cuando pasen las pruebas diré ${APPROVED}.`,
    `我不能说 ${APPROVED}。`,
    `测试通过后再说${APPROVED}`,
    `${APPROVED} とはまだ言えません。`,
    `テストが通ったら ${APPROVED} と言います。`,
    `${APPROVED}？`,
    `${APPROVED} って言っていいですか？`,
    `아직 ${APPROVED} 아닙니다.`,
    `Я не могу сказать ${APPROVED}.`,
    `لا أستطيع أن أقول ${APPROVED} الآن.`,
    `Não posso dar ${APPROVED} ainda.`,
    `Henüz ${APPROVED} diyemem.`,
    `Verdict: not yet ${APPROVED}`,
  ])('with other words in its sentence it is no approval: %s', text => {
    expect(said(text)).toEqual([]);
  });

  test.each([
    `Alles ist gut. ${APPROVED}`,
    `Tout va bien ! ${APPROVED}`,
    `全部通过。${APPROVED}`,
    `問題ありません。\n\n${APPROVED}\n`,
    `**${APPROVED}**`,
    `- ${APPROVED}`,
    `Good. ${APPROVED} <promise>COMPLETE</promise>`,
    `${APPROVED}. Nothing else to say.`,
    `✅ ${APPROVED}`,
  ])('as a sentence of its own it is one: %s', text => {
    expect(said(text)).toEqual(['US-001 approved']);
  });

  test('a verdict does not continue in another message', () => {
    const scanner = createReviewScanner();
    scanner.feed('<review story="US-001">appro');
    scanner.boundary();
    scanner.feed('ved</review>');
    scanner.boundary();
    expect(scanner.spoken()).toEqual([]);
  });

  test('what others wrote into a prompt is no verdict when it is printed back', () => {
    expect(said(withoutVerdicts(`+ ${APPROVED}\n+ ${APPROVED}`))).toEqual([]);
  });
});

describe('a verdict of the list', () => {
  const honest: ReviewEvidence = {
    outcome: { kind: 'completed' },
    spoken: [{ story: 'A', verdict: 'approved' }],
    touched: [],
    isContained: false,
  };
  test.each<[string, Partial<ReviewEvidence>, string | undefined]>([
    ['counts', {}, undefined],
    ['of a turn that failed', { outcome: { kind: 'ended', by: 'idle-timeout' } }, 'did not end well'],
    ['of a turn that is not over', { outcome: undefined }, 'did not end well'],
    ['of a turn that could not continue', { isBlocked: true }, 'could not continue'],
    ['of a review that changed a file', { touched: ['a was changed'] }, 'it changed files: a was changed'],
    [
      'that the words contradict',
      { spoken: [{ story: 'A', verdict: 'changes_requested' }] },
      'the list says approved',
    ],
    [
      'with two verdicts in words',
      { spoken: [...honest.spoken, { story: 'A', verdict: 'changes_requested' }] },
      'it said both',
    ],
    ['without words', { spoken: [] }, 'it did not say its verdict'],
    ['with words on another story', { spoken: [{ story: 'B', verdict: 'approved' }] }, 'did not say'],
    ['of a change that it was not shown', { unshown: 'git: no' }, 'could not be shown to it: git: no'],
    ['without words, contained', { spoken: [], isContained: true }, undefined],
    [
      'that the words contradict, contained',
      { spoken: [{ story: 'A', verdict: 'changes_requested' }], isContained: true },
      'the list says approved',
    ],
  ])('%s', (_, evidence, why) => {
    const found = whyVoid('A', 'approved', { ...honest, ...evidence });
    if (why === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(why);
  });
});
