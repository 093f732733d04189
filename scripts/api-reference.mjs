// The reference of the library, from the doc comments of what src/index.ts exports. `npm run generate` writes docs/reference/library.md.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from '@babel/parser';

const SRC = join(dirname(fileURLToPath(import.meta.url)), '../src');

/** Every export with its doc comment and its declaration, in the order of their names. A missing comment is ''. */
export function apiEntries() {
  const index = read('index.ts');
  const exported = new Set(
    index.body.flatMap(({ specifiers = [] }) => specifiers.map(({ local }) => local?.name)),
  );
  const entries = index.body.flatMap(statement => {
    if (statement.type !== 'ExportNamedDeclaration' || !statement.source) return [];
    const file = statement.source.value.replace('./', '');
    const module = read(file);
    return statement.specifiers.map(({ local, exported: as }) => {
      const found = declarationOf(module, local.name);
      if (!found) throw new Error(`${file} declares no ${local.name}`);
      return {
        name: as.name,
        file,
        ...found,
        code: [found.code, ...tablesOf(module, found, exported)].join('\n\n'),
      };
    });
  });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function apiReference() {
  const groups = [
    ['Functions', entry => entry.kind === 'function'],
    ['Classes and constants', entry => entry.kind === 'value'],
    ['Types', entry => entry.kind === 'type'],
  ];
  const all = apiEntries();
  const parts = groups.map(([title, isOne]) => {
    const entries = all
      .filter(isOne)
      .map(({ name, doc, code }) => `### ${name}\n\n${doc}\n\n\`\`\`ts\n${code}\n\`\`\`\n`);
    return `## ${title}\n\n${entries.join('\n')}`;
  });
  return `# The library\n\nGenerated from the doc comments of the source; \`npm run generate\` writes it. [How to use it](../how-to/use-the-library.md).\n\n${parts.join('\n')}`;
}

const modules = new Map();

function read(file) {
  if (!modules.has(file)) {
    const source = readFileSync(join(SRC, file), 'utf8');
    const { program } = parse(source, { sourceType: 'module', plugins: ['typescript'], attachComment: true });
    modules.set(file, { source, body: program.body });
  }
  return modules.get(file);
}

function declarationOf({ source, body }, name) {
  for (const statement of body) {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    const names = node?.declarations?.map(({ id }) => id.name) ?? [node?.id?.name];
    if (!node || !names.includes(name)) continue;
    const comment = (statement.leadingComments ?? []).findLast(({ value }) => value.startsWith('*'));
    // The comment of a file stands before its imports, so it is nobody's.
    return { doc: comment ? words(comment.value) : '', ...shown(source, node) };
  }
  return undefined;
}

/** The tables that a type is made of, where the reference has them nowhere else. */
function tablesOf({ source, body }, { kind, code }, exported) {
  const names = kind === 'type' ? [...code.matchAll(/typeof ([A-Z_]+)/g)].map(([, name]) => name) : [];
  return body
    .map(statement => statement.declaration ?? statement)
    .filter(node => names.some(name => node.declarations?.[0].id.name === name && !exported.has(name)))
    .map(node => source.slice(node.start, node.end));
}

function words(comment) {
  return comment
    .replace(/^\*/, '')
    .split('\n')
    .map(line => line.replace(/^\s*\* ?/, '').trim())
    .join(' ')
    .trim();
}

/** As it is written, without what it does: the body of a function, of a method, the value of a constant. */
function shown(source, node) {
  const text = (from, to) => source.slice(from, to).trim();
  if (node.type === 'FunctionDeclaration')
    return { kind: 'function', code: text(node.start, node.body.start).replace(/^async /, '') };
  if (node.type === 'ClassDeclaration') {
    const members = node.body.body.map(member => text(member.start, member.body?.start ?? member.end));
    return {
      kind: 'value',
      code: `${text(node.start, node.body.start)} {\n${members.map(each => `  ${each}`).join('\n')}\n}`,
    };
  }
  if (node.type === 'VariableDeclaration') {
    const [{ id, init }] = node.declarations;
    const type =
      init?.type === 'TSAsExpression' ? text(init.typeAnnotation.start, init.typeAnnotation.end) : '…';
    return { kind: 'value', code: `const ${id.name}: ${type}` };
  }
  return { kind: 'type', code: text(node.start, node.end) };
}
