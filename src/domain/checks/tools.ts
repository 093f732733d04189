/** Which files of a project decide what a tool does: what it reads before the code that it checks. */
import { ENV, WRAPPERS, type Wrapper } from '../text/wrappers.ts';

const CODE = ['js', 'mjs', 'cjs', 'ts', 'mts', 'cts'] as const;

function config(name: string, more: readonly string[] = []): readonly string[] {
  return [...CODE, ...more].map(extension => `${name}.${extension}`);
}

function rc(name: string): readonly string[] {
  return [`.${name}rc`, ...config(`.${name}rc`, ['json', 'jsonc', 'yaml', 'yml', 'toml'])];
}

const JEST = [
  ...config('jest.config', ['json']),
  ...config('babel.config', ['json']),
  ...rc('babel'),
  '.swcrc',
];
const VITE = [...config('vitest.config'), ...config('vite.config'), ...config('vitest.workspace', ['json'])];
const TSC = ['tsconfig.json', 'tsconfig.base.json'];
const PYTHON = ['pyproject.toml', 'setup.cfg', 'tox.ini'];
const MODULES =
  'abc argparse ast asyncio base64 bdb binascii bisect calendar cmd code codecs codeop collections ' +
  'concurrent configparser contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal ' +
  'difflib dis doctest email enum fnmatch fractions functools gc genericpath getopt getpass gettext ' +
  'glob gzip hashlib heapq hmac html http importlib inspect io ipaddress itertools json keyword ' +
  'linecache locale logging lzma math mimetypes multiprocessing ntpath numbers opcode operator ' +
  'optparse os pathlib pdb pickle pkgutil platform posixpath pprint queue random re reprlib resource ' +
  'runpy sched secrets select selectors shlex shutil signal site socket sqlite3 sre_compile ssl stat ' +
  'statistics string struct subprocess sysconfig tarfile tempfile textwrap threading timeit token ' +
  'tokenize tomllib trace traceback tracemalloc types typing unicodedata unittest urllib uuid warnings ' +
  'weakref xml zipfile zipimport zlib';

/** Python finds these beside a script before its own. */
export const SHADOWS: readonly string[] = `${MODULES} pytest sitecustomize usercustomize`
  .split(' ')
  .flatMap(name => [`${name}.py`, `${name}/__init__.py`]);
const PYTEST = [
  ...['.pytest.ini', '.coveragerc', ...PYTHON.map(name => `**/${name}`), ...SHADOWS, '**/conftest.py'],
  '**/entry_points.txt',
];
/** Where a module is looked for, by the folder of the file that names it. */
const SCOPES = ['', 'test/', 'tests/', 'spec/', '__tests__/'].map(folder => `${folder}package.json`);
const MAVEN = [
  '~/.m2/settings.xml',
  '~/.mavenrc',
  '**/pom.xml',
  '.mvn/maven.config',
  '.mvn/jvm.config',
  '.mvn/extensions.xml',
  '.mvn/wrapper/maven-wrapper.properties',
  '.mvn/wrapper/maven-wrapper.jar',
];
const GRADLE = [
  '~/.gradle/init.gradle',
  '~/.gradle/gradle.properties',
  '**/build.gradle',
  '**/build.gradle.kts',
  'settings.gradle',
  'settings.gradle.kts',
  'gradle.properties',
  'gradle/libs.versions.toml',
  'gradle/wrapper/gradle-wrapper.properties',
  'gradle/wrapper/gradle-wrapper.jar',
];

/** `**` before a name: in every folder below, too. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  vitest: [...VITE, ...TSC],
  vite: VITE,
  jest: JEST,
  'react-scripts': JEST,
  mocha: [...rc('mocha'), 'test/mocha.opts'],
  ava: config('ava.config'),
  tap: ['.taprc'],
  nyc: [...rc('nyc'), 'nyc.config.js', 'nyc.config.mjs', 'nyc.config.cjs'],
  c8: [...rc('c8'), ...rc('nyc')],
  eslint: [...config('eslint.config'), ...rc('eslint'), '.eslintignore'],
  oxlint: ['.oxlintrc.json', 'oxlintrc.json'],
  tsc: TSC,
  'vue-tsc': TSC,
  tsx: TSC,
  'ts-node': TSC,
  biome: ['biome.json', 'biome.jsonc'],
  prettier: [...rc('prettier'), ...config('prettier.config'), '.prettierignore', '.editorconfig'],
  playwright: config('playwright.config'),
  cypress: config('cypress.config'),
  karma: config('karma.conf'),
  jasmine: ['spec/support/jasmine.json', 'spec/support/jasmine.mjs', 'spec/support/jasmine.js'],
  turbo: ['turbo.json', 'turbo.jsonc'],
  nx: ['nx.json', '**/project.json'],
  lerna: ['lerna.json'],
  node: [...SCOPES, 'node.config.json'],
  deno: ['deno.json', 'deno.jsonc', 'import_map.json'],
  pytest: PYTEST,
  'py.test': PYTEST,
  tox: [...PYTHON, 'tox.toml'],
  nox: ['noxfile.py'],
  ruff: ['ruff.toml', '.ruff.toml', 'pyproject.toml'],
  mypy: ['mypy.ini', '.mypy.ini', ...PYTHON],
  pyright: ['pyrightconfig.json', 'pyproject.toml'],
  flake8: ['.flake8', ...PYTHON],
  pylint: ['.pylintrc', 'pylintrc', ...PYTHON],
  black: ['pyproject.toml'],
  coverage: ['.coveragerc', ...PYTHON],
  cargo: [
    '**/Cargo.toml',
    '**/build.rs',
    '~/.cargo/config.toml',
    '.cargo/config.toml',
    '.cargo/config',
    'rust-toolchain.toml',
    'rust-toolchain',
  ],
  go: ['go.mod', 'go.work', 'go.env', '~/.config/go/env'],
  mvn: MAVEN,
  mvnw: MAVEN,
  gradle: GRADLE,
  gradlew: GRADLE,
  task: ['Taskfile.yml', 'Taskfile.yaml', 'taskfile.yml'],
  rake: ['Rakefile', 'rakefile'],
  rspec: ['.rspec'],
  phpunit: ['phpunit.xml', 'phpunit.xml.dist'],
  composer: ['composer.json'],
  bundle: ['Gemfile', '.bundle/config'],
  mix: ['mix.exs'],
  swift: ['Package.swift'],
  ctest: ['**/CMakeLists.txt', 'CTestTestfile.cmake'],
  cmake: ['**/CMakeLists.txt'],
  git: ['.git/config', '.git/info/attributes', '.gitattributes', '~/.gitconfig'],
  docker: ['.env', 'compose.yml', 'compose.yaml'],
  dotnet: ['**/Directory.Build.props', '**/Directory.Build.targets', 'global.json', 'nuget.config'],
  sbt: ['build.sbt', 'project/build.properties', 'project/plugins.sbt', '.jvmopts'],
  lein: ['project.clj', 'profiles.clj'],
  clj: ['deps.edn'],
  clojure: ['deps.edn'],
  bazel: ['.bazelrc', 'MODULE.bazel', 'WORKSPACE', '**/BUILD', '**/BUILD.bazel'],
};

/** What package managers for JavaScript read, beside `package.json`. */
export const MANAGERS: Readonly<Record<string, readonly string[]>> = {
  npm: ['.npmrc', '~/.npmrc'],
  pnpm: ['.npmrc', '.pnpmfile.cjs', '.pnpmfile.mjs', 'pnpm-workspace.yaml', '~/.npmrc', '~/.config/pnpm/rc'],
  yarn: ['.yarnrc', '.yarnrc.yml', '.npmrc', '~/.yarnrc', '~/.yarnrc.yml', '~/.npmrc'],
  bun: ['bunfig.toml', '.npmrc', '~/.bunfig.toml', '~/.npmrc'],
};

/** Files of commands, and which lines of them are commands. */
export const RECIPES: Readonly<Record<string, { readonly files: readonly string[]; readonly line: RegExp }>> =
  {
    make: { files: ['GNUmakefile', 'makefile', 'Makefile'], line: /^\t[@+-]*(.*)/ },
    gmake: { files: ['GNUmakefile', 'makefile', 'Makefile'], line: /^\t[@+-]*(.*)/ },
    just: { files: ['justfile', 'Justfile', '.justfile'], line: /^[ \t]+[@-]*(.*)/ },
    tox: { files: ['tox.ini'], line: /^(?:commands(?:_pre|_post)? *=|[ \t]+-?) *(.*)/ },
  };

/** Programs that look at the files they name, and are not steered by them: the files are what is checked. */
export const LOOKERS: ReadonlySet<string> = new Set([
  ...[
    'test',
    '[',
    'cat',
    'head',
    'tail',
    'ls',
    'find',
    'stat',
    'file',
    'du',
    'wc',
    'sort',
    'uniq',
    'cut',
    'tr',
  ],
  ...[
    'grep',
    'egrep',
    'fgrep',
    'rg',
    'ag',
    'diff',
    'cmp',
    'comm',
    'echo',
    'printf',
    'touch',
    'mkdir',
    'rm',
    'cp',
  ],
  ...['mv', 'ln', 'sha1sum', 'sha256sum', 'md5sum', 'jq', 'true', 'false', ':'],
]);

export const INTERPRETERS: ReadonlySet<string> = new Set([
  ...['node', 'deno', 'bun', 'tsx', 'ts-node', 'python', 'ruby', 'perl', 'php', 'lua', 'Rscript'],
  ...['sh', 'bash', 'dash', 'zsh', 'ksh', 'fish', 'pwsh', 'source', '.'],
]);

/** Programs that only start another one. */
const STARTERS: Readonly<Record<string, Wrapper>> = {
  ...WRAPPERS,
  env: ENV,
  command: {},
  npx: { valued: '-p --package' },
  uvx: { valued: '--from --with' },
  'xvfb-run': { valued: '-s -n -w -e -f -p' },
  xargs: { valued: '-n -I -P -d -L -a -s -E --max-args --max-procs --delimiter --replace' },
  flock: { valued: '-w -E --timeout', skip: 1 },
  watch: { valued: '-n --interval' },
};

export function starterOf(program: string): Wrapper | undefined {
  const name = toolName(program);
  return Object.hasOwn(STARTERS, name) ? STARTERS[name] : undefined;
}

/** Programs that have another one run in a place that they make for it. */
export const RUNNERS: ReadonlySet<string> = new Set(
  'uv poetry pipenv hatch bundle pdm rye conda mamba mise asdf direnv dotenvx devbox corepack coverage c8 nyc'.split(
    ' ',
  ),
);

export function isTool(name: string): boolean {
  return [TOOLS, MANAGERS, RECIPES].some(table => Object.hasOwn(table, name)) || INTERPRETERS.has(name);
}

/** `python3.12` is `python`. */
export function toolName(program: string): string {
  const name = (program.split('/').at(-1) ?? '').replace(/\.(exe|cmd|bat|sh)$/i, '');
  return /^(python|pip)[\d.]*$/.test(name) ? name.replace(/[\d.]+$/, '') : name;
}

export function configsOf(tool: string): readonly string[] {
  return Object.hasOwn(TOOLS, tool) ? (TOOLS[tool] ?? []) : [];
}

/** Whether a file that is named after it may steer it: `.rubocop.yml`, `phpstan.neon`, `dune-project`. Short words mean too much. */
export function isNamedAfter(tool: string): boolean {
  return (
    /^[\w-]{4,}$/.test(tool) &&
    ![LOOKERS, INTERPRETERS].some(set => set.has(tool)) &&
    !Object.hasOwn(MANAGERS, tool)
  );
}

/**
 * `.toolrc`, `tool.config.js`, `tool-ci.toml`, `tool-project`; not what it writes, no lock file, and no source that is only called like it:
 * `tool-helpers.ts`.
 */
export function toolFile(tool: string): RegExp {
  const stem = tool.replace(/-(lint|cli)$/, '').replace(/[.]/g, '\\.');
  const words = `${stem}(?:rc)?(?:[._-][\\w-]+)*`;
  const steers = `(?:${words}(?:[._-](?:${STEERING.join('|')}))[\\w.-]*|${words}\\.(?:${SETTINGS.join('|')}))`;
  const written = '(?!.*(?:lock|report|junit|cache|coverage|result|\\.(?:log|xml|txt|html|md|out)$))';
  return new RegExp(
    `^${written}(?:\\.${stem}(?:rc)?(?:[._-].*)?|${stem}rc(?:[._-].*)?|${steers}|${stem}(?:-\\w+)?)$`,
  );
}

const STEERING = ['config', 'conf', 'setup', 'settings', 'workspace', 'preset', 'global', 'base', 'env'];
const SETTINGS = [
  'jsonc?',
  'json5',
  'ya?ml',
  'toml',
  'ini',
  'cfg',
  'conf',
  'neon',
  'properties',
  'edn',
  'dist',
];
