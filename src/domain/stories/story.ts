/** A story list, the content of `tasks.json`: its shape, and everything that is wrong with one. Fields we do not know are kept. */
import {
  filledText,
  isObject,
  type Json,
  listOf,
  misfit,
  number,
  type Shape,
  text,
  textsIn,
  trueOrFalse,
} from '../text/json.ts';

const REVIEW_STATUSES = ['needs_review', 'changes_requested', 'approved'] as const;

/** null: not implemented yet. */
export type ReviewStatus = (typeof REVIEW_STATUSES)[number] | null;

export interface Story {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly acceptanceCriteria: readonly string[];
  /** 1 comes first. */
  readonly priority: number;
  readonly passes: boolean;
  readonly reviewStatus: ReviewStatus;
  /** How many review iterations have judged it. */
  readonly reviewCount: number;
  readonly reviewFeedback: string;
  readonly notes?: string;
  /** Ids of stories that must be done before this one. */
  readonly dependsOn?: readonly string[];
  /** What Ralph runs for this story, beside the commands of the list. */
  readonly verifyCommands?: readonly string[];
}

export interface StoryList {
  readonly project: string;
  readonly branchName: string;
  readonly description: string;
  /** What Ralph runs to see whether the work is right, for every story. */
  readonly verifyCommands?: readonly string[];
  readonly userStories: readonly Story[];
}

/** Something that is wrong with a list. */
export interface Flaw {
  /** The position of the story; undefined: the list itself. */
  readonly at?: number;
  readonly field: string;
  readonly message: string;
  /** The field is what it may be, and still says too little. */
  readonly isAboutNotes?: true;
}

/** What a story is before anything has been done for it. */
export const UNTOUCHED = {
  passes: false,
  reviewStatus: null,
  reviewCount: 0,
  reviewFeedback: '',
} as const satisfies Partial<Story>;

/** A list in which nothing is wrong, or all that is. */
export function readList(value: unknown): StoryList | readonly Flaw[] {
  const flaws = findFlaws(value);
  return flaws.length > 0 ? flaws : (value as StoryList);
}

export function findFlaws(value: unknown): readonly Flaw[] {
  if (!isObject(value)) return [{ field: '', message: 'it must hold a JSON object' }];
  const stories = value.userStories;
  return [
    ...fieldFlaws(value, LIST_FIELDS),
    ...(Array.isArray(stories) ? stories.flatMap(storyFlaws) : []),
    ...(Array.isArray(stories) ? [...duplicateFlaws(stories), ...findGraphFlaws(stories)] : []),
  ];
}

function storyFlaws(story: unknown, at: number): readonly Flaw[] {
  if (!isObject(story)) return [{ at, field: '', message: `story ${at + 1} must be an object` }];
  const flaws = fieldFlaws(story, STORY_FIELDS, nameOf(story, at));
  if (story.passes !== true || !isBlank(story.notes)) return flaws.map(flaw => ({ ...flaw, at }));
  const silent: Flaw = {
    field: 'notes',
    message: describeSilentStory(nameOf(story, at)),
    isAboutNotes: true,
  };
  return [...flaws, silent].map(flaw => ({ ...flaw, at }));
}

export function describeSilentStory(name: string): string {
  return `story ${name} has passes=true and empty notes: say there what was done`;
}

function isBlank(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value.trim() === '');
}

/** How a story is called in a sentence. */
function nameOf(story: Json, at: number): string {
  return typeof story.id === 'string' && story.id.trim() !== '' ? story.id : `number ${at + 1}`;
}

interface FieldRule extends Shape {
  readonly optional?: true;
}

const texts = listOf(filledText, 'a list of texts');

const LIST_FIELDS: Readonly<Record<string, FieldRule>> = {
  project: text,
  branchName: text,
  description: text,
  verifyCommands: { ...texts, optional: true },
  userStories: { fits: Array.isArray, words: 'a list of stories' },
};

export const STORY_FIELDS: Readonly<Record<string, FieldRule>> = {
  id: filledText,
  title: filledText,
  description: { ...text, optional: true },
  acceptanceCriteria: {
    fits: value => texts.fits(value) && (value as readonly unknown[]).length > 0,
    words: 'a list of texts that is not empty',
  },
  priority: number,
  passes: trueOrFalse,
  reviewStatus: {
    fits: value => value === null || REVIEW_STATUSES.some(status => status === value),
    words: 'null, "needs_review", "changes_requested" or "approved"',
  },
  reviewCount: {
    fits: value => Number.isSafeInteger(value) && (value as number) >= 0,
    words: 'a whole number that is not negative',
  },
  reviewFeedback: text,
  notes: { ...text, optional: true },
  dependsOn: { ...texts, words: 'a list of story ids', optional: true },
  verifyCommands: { ...texts, optional: true },
};

function fieldFlaws(
  value: Json,
  rules: Readonly<Record<string, FieldRule>>,
  story?: string,
): readonly Flaw[] {
  return Object.entries(rules).flatMap(([field, rule]) => {
    const given = Object.hasOwn(value, field) ? value[field] : undefined;
    if (given === undefined ? rule.optional : rule.fits(given)) return [];
    const where = story === undefined ? field : `story ${story}: ${field}`;
    const what = given === undefined ? `is missing; it must be ${rule.words}` : misfit(given, rule);
    return [{ field, message: `${where} ${what}` }];
  });
}

function duplicateFlaws(stories: readonly unknown[]): readonly Flaw[] {
  const seen = new Set<unknown>();
  return stories.flatMap((story, at) => {
    const id = isObject(story) ? story.id : undefined;
    if (typeof id !== 'string' || !seen.has(id)) {
      seen.add(id);
      return [];
    }
    return [{ at, field: 'id', message: `story ${id}: there is more than one story of this id` }];
  });
}

/** Unknown ids, and dependency cycles. */
export function findGraphFlaws(stories: readonly unknown[]): readonly Flaw[] {
  const needs: Needs = new Map(
    stories.filter(isObject).map(story => [String(story.id), textsIn(story.dependsOn)] as const),
  );
  const cycles = findCycles(needs);
  return stories.flatMap((story, at) => {
    if (!isObject(story)) return [];
    const id = String(story.id);
    const unknown = textsIn(story.dependsOn).filter(each => !needs.has(each));
    const cycle = cycles.get(id);
    const messages = [
      ...unknown.map(each => `story ${id} depends on ${each}, and there is no such story`),
      ...(cycle ? [`story ${id} is in a dependency cycle: ${formatCycle(cycle, id)}`] : []),
    ];
    return messages.map(message => ({ at, field: 'dependsOn', message }));
  });
}

/** By story, the ids that it waits for. */
export type Needs = ReadonlyMap<string, readonly string[]>;

/** By story, a cycle that it is part of. */
export function findCycles(needs: Needs): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const id of findBlocked(needs)) {
    if (found.has(id)) continue;
    const cycle = findCycleFrom(id, needs) ?? [];
    for (const member of cycle) if (!found.has(member)) found.set(member, cycle);
  }
  return found;
}

/** Takes out, as long as there is one, a story that waits for none of those left: in a sound list none is left. */
function findBlocked(needs: Needs): readonly string[] {
  const waiting = new Map([...needs].map(([id, ids]) => [id, ids.filter(each => needs.has(each)).length]));
  const neededBy = new Map<string, string[]>([...needs.keys()].map(id => [id, []]));
  for (const [id, ids] of needs) for (const each of ids) neededBy.get(each)?.push(id);
  const free = [...waiting].filter(([, count]) => count === 0).map(([id]) => id);
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    waiting.delete(id);
    for (const other of neededBy.get(id) ?? []) {
      const left = (waiting.get(other) ?? 0) - 1;
      waiting.set(other, left);
      if (left === 0) free.push(other);
    }
  }
  return [...waiting.keys()];
}

/** The shortest way from a story back to itself, without its end. */
function findCycleFrom(start: string, needs: Needs): readonly string[] | undefined {
  const reachedFrom = new Map<string, string>();
  const waiting = [start];
  for (let at = 0; at < waiting.length; at++) {
    const id = waiting[at] as string;
    for (const next of needs.get(id) ?? []) {
      if (next === start) return pathTo(id, start, reachedFrom);
      if (reachedFrom.has(next)) continue;
      reachedFrom.set(next, id);
      waiting.push(next);
    }
  }
  return undefined;
}

function pathTo(end: string, start: string, reachedFrom: ReadonlyMap<string, string>): readonly string[] {
  const way = [end];
  for (let id = end; id !== start; way.push(id)) id = reachedFrom.get(id) as string;
  return way.reverse();
}

/** Nobody follows a longer one. */
const SHOWN = 8;

/** `A → B → A`, from the story on. */
export function formatCycle(cycle: readonly string[], id: string): string {
  const from = cycle.indexOf(id);
  const way = Array.from(
    { length: Math.min(cycle.length, SHOWN) },
    (_, at) => cycle[(from + at) % cycle.length],
  );
  return [...way, ...(cycle.length > SHOWN ? [`${cycle.length - SHOWN} more`] : []), id].join(' → ');
}
