import { expect, test } from 'vitest';
import { errorLine } from '../../src/platform/error-words.ts';

test.each([
  ['nothing', '', ''],
  ['one line', 'broken\n', 'broken'],
  ['no line that names an error: the last one', 'one\ntwo\n\n', 'two'],
  [
    'npm: the line that says what is wrong, and not where its log is',
    'npm error code E404\nnpm error 404 Not Found\nnpm error A complete log of this run can be found in: /x\n',
    'npm error code E404',
  ],
  [
    'an uncaught error in Node, whose last line is its version',
    "node:internal/modules/cjs/loader:1215\n  throw err;\n  ^\n\nError: Cannot find module 'x'\n    at f (y)\n\nNode.js v22.1.0\n",
    "Error: Cannot find module 'x'",
  ],
  [
    'Python, behind its traceback',
    'Traceback (most recent call last):\n  File "a.py", line 1\n    import error\nModuleNotFoundError: No module named \'x\'\n',
    "ModuleNotFoundError: No module named 'x'",
  ],
  ['a shell', 'building\nsh: 1: pnpm: not found\nmake: *** [all] Error 127\n', 'sh: 1: pnpm: not found'],
  ['git', 'hint: x\nfatal: not a git repository\nhint: y\n', 'fatal: not a git repository'],
  [
    'a warning is no error',
    'warning: error handling is deprecated\n[ERROR] no login\nbye\n',
    '[ERROR] no login',
  ],
  ['nor is a count of none', '0 errors\nexit status 2\n', 'exit status 2'],
  ['colours', '\u001b[31merror\u001b[0m: red\nbye\n', 'error: red'],
  ['permissions', 'cp: cannot open x: Permission denied\nbye\n', 'cp: cannot open x: Permission denied'],
])('the line that says what went wrong: %s', (_, output, line) => {
  expect(errorLine(output)).toBe(line);
});
