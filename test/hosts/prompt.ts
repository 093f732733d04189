/** A prompt of a megabyte that holds everything a shell, a terminal or a decoder could stumble over. */
import { runLoop } from '../rig/hosts/loop.ts';
import type { Rig } from './conformance.ts';

export function promptCase(rig: Rig): void {
  rig.sees('prompt', async () => {
    const session = await rig.open({ steps: [{ text: 'Read. <response>DONE</response>' }] });
    const prompt = largePrompt();
    await runLoop(session, { prompt, args: ['-m', '1'] });
    const texts = session.server.requests.find(request => request.kind === 'step')?.userTexts ?? [];
    return texts.map(text => arrived(prompt, text)).find(how => how !== undefined) ?? 'changed';
  });
}

/** No "@" and no "/" in front: some clients give them a meaning of their own. */
function largePrompt(): string {
  const shell = `"double" 'single' $HOME $(id) \`id\` \\ \\n %s {{x}} <tag> & | ; # ! \r\n\n`;
  const binary = Array.from({ length: 31 }, (_, n) => String.fromCharCode(n + 1)).join('');
  const line = `${shell}${binary}\x7f\x1b[31m\u2028\u2029\ufeff 🙂 é `;
  // Letters of three bytes all the way over the places where a pipe breaks a text into pieces.
  const letters = '漢'.repeat(100_000);
  const lines = line.repeat(Math.ceil(700_000 / Buffer.byteLength(line)));
  return `Start: ${letters}${lines}end.`;
}

function arrived(prompt: string, text: string): string | undefined {
  const at = text.indexOf(prompt);
  if (at === -1) return brokenLetters(prompt, text) > 0 ? 'some letters beyond ASCII broken' : undefined;
  const behind = text.slice(at + prompt.length);
  const added = [
    ...(at > 0 ? ['words before it'] : []),
    ...(behind === '' ? [] : [behind.trim() === '' ? 'newlines behind it' : 'words behind it']),
  ];
  return ['byte for byte', ...added].join(', ');
}

/** How many letters came as U+FFFD, if that is all that happened; 0 if it is not. */
function brokenLetters(prompt: string, text: string): number {
  const came = [...text];
  let at = 0;
  let broken = 0;
  for (const letter of prompt) {
    if (came[at] === letter) at++;
    else if (came[at] === '\ufffd') {
      while (came[at] === '\ufffd') at++;
      broken++;
    } else return 0;
  }
  return at === came.length ? broken : 0;
}
