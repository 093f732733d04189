/** A story list, the content of `tasks.json`: its shape, and everything that is wrong with one. Fields we do not know are kept. */
import { isObject, type Json } from './json.ts';
import { filledText, listOf, misfit, number, type Shape, text, trueOrFalse } from './shape.ts';
import { findCycles, formatCycle, type Needs } from './story-graph.ts';

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
}

export interface StoryList {
  readonly project: string;
  readonly branchName: string;
  readonly description: string;
  /** What the agent runs to see whether its work is right. */
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
    stories.filter(isObject).map(story => [String(story.id), idsOf(story.dependsOn)] as const),
  );
  const cycles = findCycles(needs);
  return stories.flatMap((story, at) => {
    if (!isObject(story)) return [];
    const id = String(story.id);
    const unknown = idsOf(story.dependsOn).filter(each => !needs.has(each));
    const cycle = cycles.get(id);
    return [
      ...unknown.map(each => ({
        at,
        field: 'dependsOn',
        message: `story ${id} depends on ${each}, and there is no such story`,
      })),
      ...(cycle
        ? [
            {
              at,
              field: 'dependsOn',
              message: `story ${id} is in a dependency cycle: ${formatCycle(cycle, id)}`,
            },
          ]
        : []),
    ];
  });
}

function idsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter(id => typeof id === 'string') : [];
}
