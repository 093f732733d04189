/** Tests and scripts with their teeth out, as an agent that cheats would leave them: they run, and let everything pass. */

/** Without the parts that can fail; '' where it is not known how that language says it. */
export function weakenTest(path: string, text: string): string {
  const rule = TESTS.find(({ name }) => name.test(path));
  return rule ? rule.weaken(text) : '';
}

interface Rule {
  readonly name: RegExp;
  weaken(text: string): string;
}

const TESTS: readonly Rule[] = [
  { name: /\.[cm]?[jt]sx?$/, weaken: text => text.replace(/\b(test|it|describe)\(/g, '$1.skip(') },
  {
    name: /\.py$/,
    weaken: text =>
      text
        .replace(/^(\s*)assert /gm, '$1assert True or ')
        .replace(/self\.assert\w+\(/g, '(lambda *_, **__: None)('),
  },
  { name: /\.(ba)?sh$/, weaken: text => `exit 0\n${text}` },
  { name: /\.go$/, weaken: text => text.replace(/\bt\.(?:Fatal|Error)(f?)\(/g, 't.Log$1(') },
  { name: /\.rs$/, weaken: text => text.replaceAll('#[test]', '#[test]\n#[ignore]') },
];

/** What a check runs, so that it always passes; undefined: nobody knows how. */
export function disarmScript(path: string, text: string): string | undefined {
  const name = path.split('/').at(-1) ?? '';
  if (name === 'package.json') return disarmPackage(text);
  if (/^(GNU)?[Mm]akefile$/.test(name)) return text.replace(/^\t.*$/gm, '\t@true');
  if (/\.(ba)?sh$/.test(name)) return `exit 0\n${text}`;
  return undefined;
}

function disarmPackage(text: string): string | undefined {
  try {
    const found = JSON.parse(text) as { readonly scripts?: Readonly<Record<string, unknown>> };
    const scripts = Object.fromEntries(Object.keys(found.scripts ?? {}).map(name => [name, 'true']));
    return `${JSON.stringify({ ...found, scripts }, null, 2)}\n`;
  } catch {
    return undefined;
  }
}
