// A bundle hoists every `require` to its top, also of what only a rare command needs, and some of Node's own modules take
// longer to load than all of our code. With this plugin each is loaded when something of it is first used.
const HOISTED =
  /^([ \t]*)(?:let|const|var) (\w+) = require\("((?:node:|\.\/)(?!fs"|path"|events"|process")[^"]+)"\);$/gm;

export const lazyBuiltins = {
  name: 'lazy-builtins',
  renderChunk(code) {
    let found = 0;
    const lazy = code.replace(HOISTED, (_, indent, name, module) => {
      found++;
      return `${indent}const ${name} = __lazily("${module}");`;
    });
    return found === 0 ? null : { code: withHelper(lazy) };
  },
};

const HELPER =
  'function __lazily(id) {\n\tlet module;\n\treturn new Proxy({}, { get: (_, name) => (module ??= require(id))[name] });\n}\n';

/** After the #! line, if there is one. */
function withHelper(code) {
  const [, first = '', rest] = /^(#!.*\n)?([\s\S]*)$/.exec(code);
  return first + HELPER + rest;
}
