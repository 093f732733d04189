/** Stories from elsewhere: what is still open here is brought up to date, what is under way or done is not touched. */

import { isObject, type Json } from '../text/json.ts';
import { type Story, type StoryList, UNTOUCHED } from './story.ts';

/** A story as another place tells it. */
export interface Draft {
  /** undefined: it has none there; then it is known again by its title. */
  readonly id?: string;
  readonly title: string;
  readonly description: string;
  readonly criteria: readonly string[];
  /** Somebody says so. */
  readonly isDone: boolean;
}

export interface ImportTerms {
  /** Where they come from, for the notes of what is done there. */
  readonly from: string;
  /** What is said to be done counts as approved. */
  readonly trust: boolean;
}

export interface Imported {
  readonly list: StoryList;
  readonly added: readonly string[];
  readonly updated: readonly string[];
  /** Under way or done here: left as they are. */
  readonly kept: readonly string[];
}

export function importStories(before: StoryList, drafts: readonly Draft[], terms: ImportTerms): Imported {
  const known = new Map(before.userStories.map(story => [story.id, story]));
  const left = new Set(before.userStories);
  const taken = new Set([...known.keys(), ...drafts.flatMap(({ id }) => id ?? [])]);
  const changed = new Map<string, Story>();
  const added: Story[] = [];
  const kept: string[] = [];
  let priority = Math.max(0, ...before.userStories.map(story => story.priority));
  for (const draft of drafts) {
    const was =
      draft.id === undefined ? [...left].find(({ title }) => title === draft.title) : known.get(draft.id);
    if (was) left.delete(was);
    if (!was) {
      const id = draft.id ?? freeId(taken);
      taken.add(id);
      added.push({ ...fieldsOf(draft), ...stateOf(draft, terms), id, priority: ++priority });
    } else if (was.passes || was.reviewStatus !== null || was.reviewCount !== 0) kept.push(was.id);
    else changed.set(was.id, { ...was, ...fieldsOf(draft), ...(draft.isDone && stateOf(draft, terms)) });
  }
  const userStories = [...before.userStories.map(story => changed.get(story.id) ?? story), ...added];
  const updated = before.userStories.filter(story => {
    const now = changed.get(story.id);
    return now !== undefined && JSON.stringify(story) !== JSON.stringify(now);
  });
  return {
    list: { ...before, userStories },
    added: added.map(({ id }) => id),
    updated: updated.map(({ id }) => id),
    kept,
  };
}

/** An id that two of them have. */
export function findDuplicate(drafts: readonly Draft[]): string | undefined {
  const seen = new Set<string>();
  for (const { id } of drafts) {
    if (id === undefined) continue;
    if (seen.has(id)) return id;
    seen.add(id);
  }
  return undefined;
}

function fieldsOf({ title, description, criteria }: Draft) {
  return { title, description, acceptanceCriteria: criteria.length > 0 ? criteria : [title] };
}

function stateOf({ isDone }: Draft, { from, trust }: ImportTerms) {
  if (!isDone) return { ...UNTOUCHED, notes: '', dependsOn: [] };
  const state = trust
    ? ({ passes: true, reviewStatus: 'approved' } as const)
    : ({ passes: false, reviewStatus: 'needs_review' } as const);
  return { ...UNTOUCHED, ...state, notes: `Ticked in ${from}.`, dependsOn: [] };
}

function freeId(taken: ReadonlySet<string>): string {
  for (let number = 1; ; number++) {
    const id = `US-${String(number).padStart(3, '0')}`;
    if (!taken.has(id)) return id;
  }
}

/** What others wrote, fit for a line: no control characters, one space where there were many. */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
}

/** `prd.json` of other Ralph loops. Nobody has reviewed what they call passed: it comes in as built. `readList` checks whether it is valid. */
export function convertForeignList(value: unknown): unknown {
  if (!isObject(value) || !Array.isArray(value.userStories)) return value;
  const { project, name, branchName, description } = value;
  return {
    ...value,
    project: project ?? name ?? '',
    branchName: branchName ?? '',
    description: description ?? '',
    verifyCommands: value.verifyCommands ?? [],
    userStories: value.userStories.map((story, at) =>
      isObject(story) ? fromForeignStory(story, at) : story,
    ),
  } satisfies Partial<Record<keyof StoryList, unknown>>;
}

function fromForeignStory(story: Json, at: number): Json {
  const isBuilt = story.passes === true && story.reviewStatus === undefined;
  return {
    ...UNTOUCHED,
    notes: '',
    dependsOn: [],
    ...story,
    ...(typeof story.id === 'number' && { id: String(story.id) }),
    priority: story.priority ?? at + 1,
    ...(isBuilt && { passes: false, reviewStatus: 'needs_review' }),
  };
}
