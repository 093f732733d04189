/** `ralph loop --tasks FILE --parallel N` and `ralph loop … --best-of N` as kinds of runs. */
import { loadSettings } from '../config/load.ts';
import type { Settings } from '../config/settings-shape.ts';
import { isProblem, type Problem } from '../domain/problem.ts';
import { type ChosenAgent, chooseNamed } from '../turns/choose-agent.ts';
import type { RunKind } from './kind.ts';
import type { ChildBase } from './lane-runs.ts';
import { parallelKind } from './parallel-kind.ts';
import { attemptsCrew, tasksCrew } from './tasks-crew.ts';

/** `file`: from the project; `source`: its text when the run began. */
export function parallelTasks(file: string, source: string, settings: Settings): RunKind {
  return parallelKind(
    {
      command: 'loop',
      given: { crew: 'tasks', tasks: file },
      title: `Tasks of ${file}`,
      task: source,
      check: async () => undefined,
      crew: base => tasksCrew({ file, source }, base),
    },
    settings.parallel,
  );
}

export function bestOf(task: string, settings: Settings): RunKind {
  return parallelKind(
    {
      command: 'loop',
      given: { crew: 'attempts' },
      task,
      check: async () => undefined,
      async crew(base) {
        const who = attemptAgents(settings, base);
        return isProblem(who) ? who : attemptsCrew(task, who, base);
      },
    },
    settings.bestOf,
  );
}

/** In turn, as often as there are attempts. */
function attemptAgents(settings: Settings, { parts }: ChildBase): readonly ChosenAgent[] | Problem {
  const { project, env } = parts;
  const names = (settings.attemptAgents ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '');
  const { fromFiles } = loadSettings(project, 'loop', {});
  const world = { cwd: project.root, env };
  const chosen = names.map(name => chooseNamed('--agents', name, settings, fromFiles, world));
  const problem = chosen.find(isProblem);
  if (problem) return problem;
  const all = chosen.filter((each): each is ChosenAgent => !isProblem(each));
  const [first = parts.agent] = all;
  return Array.from({ length: settings.bestOf }, (_, at) => all[at % Math.max(1, all.length)] ?? first);
}
