/** Which files of a project decide what a tool does: what it reads before the code that it checks. */

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
/** Python finds these beside a script before its own. */
export const SHADOWS: readonly string[] = [
  ...['pytest.py', 'pytest/__init__.py', 'sitecustomize.py', 'usercustomize.py'],
  ...(
    'unittest json re argparse subprocess pathlib collections typing random logging tempfile shutil glob csv datetime ' +
    'string enum dataclasses functools contextlib inspect traceback types warnings asyncio threading socket http urllib ' +
    'hashlib copy operator textwrap pprint difflib decimal fractions math statistics heapq bisect itertools io ast doctest'
  )
    .split(' ')
    .map(name => `${name}.py`),
];
const PYTEST = ['.pytest.ini', ...PYTHON.map(name => `**/${name}`), ...SHADOWS, '**/conftest.py'];
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
  go: ['go.mod', 'go.work', 'go.env'],
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

/** Programs that only start another one; those that take a value of their own before it have it in the pattern. */
export const STARTERS: Readonly<Record<string, RegExp>> = {
  env: /^(-|[A-Za-z_]\w*=)/,
  'cross-env': /^[A-Za-z_]\w*=/,
  time: /^-/,
  nice: /^-|^\d+$/,
  exec: /^-/,
  command: /^-/,
  nohup: /^$/,
  timeout: /^-|^[\d.]+[smhd]?$/,
  'xvfb-run': /^-/,
  npx: /^-/,
  bunx: /^-/,
  pnpx: /^-/,
  dotenv: /^-/,
  uvx: /^-/,
  sudo: /^-/,
};

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
