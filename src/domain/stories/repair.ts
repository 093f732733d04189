/**
 * After an iteration: compares what the agent left in `tasks.json` with the trusted list. What is not allowed is
 * undone field by field, the rest of the edit is kept, and the result is the next trusted list.
 */

import { restoreCommands } from '../checks/verify-commands.ts';
import { isObject, type Json } from '../text/json.ts';
import {
  describeSilentStory,
  type Flaw,
  findFlaws,
  findGraphFlaws,
  STORY_FIELDS,
  type Story,
  type StoryList,
  UNTOUCHED,
} from './story.ts';
import { type ForbiddenChange, findForbiddenChanges, type StoryRules } from './transitions.ts';

export interface RepairedList {
  readonly list: StoryList;
  /** What was changed and may not be, a sentence each; it is undone in `list`. */
  readonly forbidden: readonly string[];
  /** What should have been done and was not. */
  readonly missing: readonly string[];
  /** Whether the list differs from what the agent left. */
  readonly repaired: boolean;
  /** Approved because it has had all the reviews it may have. */
  readonly autoApproved?: Story;
}

/** Before the feedback of a story that was approved because it has had all the reviews it may have. */
export const CAP_PREFIX = '[AUTO-APPROVED AT CAP]';

/** `left` is the JSON that the agent left; undefined when there is none that can be read. The trusted list itself: it changed nothing. */
export function repairList(trusted: StoryList, left: unknown, rules: StoryRules): RepairedList {
  if (left === trusted) return repairUntouched(trusted, rules);
  if (!isObject(left) || !Array.isArray(left.userStories)) {
    const what = left === undefined ? 'cannot be read any more' : 'is no story list any more';
    return { list: trusted, forbidden: [`tasks.json ${what}.`], missing: [], repaired: true };
  }
  const read = readStories(trusted, left, left.userStories);
  const changes = findForbiddenChanges(storiesById(trusted), read.list.userStories, rules);
  const messagesOf = (isOmission: boolean) =>
    changes.filter(({ undo }) => (undo.kind === 'none') === isOmission).map(({ message }) => message);
  const noted = addNotes(undoChanges(trusted, read.list.userStories, changes));
  const lawful = { ...read.list, userStories: noted.stories };
  const { list, ...atCap } = applyCap(trusted, lawful, rules);
  const messages = [...read.messages, ...messagesOf(false), ...noted.messages];
  // Nothing may be left that the next iteration could not start from.
  if (findFlaws(list).length > 0)
    return {
      list: trusted,
      forbidden: [...messages, 'The whole of tasks.json was restored.'],
      missing: [],
      repaired: true,
    };
  const repaired = JSON.stringify(list) !== JSON.stringify(left);
  return { list, forbidden: messages, missing: messagesOf(true), repaired, ...atCap };
}

export function storiesById({ userStories }: StoryList): ReadonlyMap<string, Story> {
  return new Map(userStories.map(story => [story.id, story]));
}

interface Readable {
  readonly list: StoryList;
  readonly messages: readonly string[];
}

/** Check 1: an invalid field becomes what it was. */
function readStories(trusted: StoryList, left: Json, entries: readonly unknown[]): Readable {
  const flaws = findFlaws(left).filter(flaw => !flaw.isAboutNotes);
  const messages = flaws.map(flaw => `tasks.json: ${flaw.message}.`);
  const top = flaws.filter(flaw => flaw.at === undefined);
  const known = storiesById(trusted);
  const flawsAt = new Map<number | undefined, Flaw[]>();
  for (const flaw of flaws) flawsAt.set(flaw.at, [...(flawsAt.get(flaw.at) ?? []), flaw]);
  const stories = entries.flatMap((entry, at) => {
    const own = (flawsAt.get(at) ?? []).filter(flaw => flaw.field !== 'dependsOn');
    return repairStory(known, entry, own) ?? [];
  });
  const readable = {
    ...left,
    ...fieldsOf(trusted, top),
    branchName: trusted.branchName,
    userStories: repairGraph(known, stories),
  } as StoryList;
  const { list, messages: commands } = restoreCommands(trusted, readable);
  // The next run would work there.
  const isMoved = typeof left.branchName === 'string' && left.branchName !== trusted.branchName;
  const moved = isMoved ? ['tasks.json: branchName was changed. Only the user changes it.'] : [];
  return { list, messages: [...messages, ...moved, ...commands] };
}

/** The named fields as they were; one that was not there is removed. */
function fieldsOf(from: object, flaws: readonly Flaw[]): Json {
  const known = from as Json;
  return Object.fromEntries(flaws.map(({ field }) => [field, known[field]]));
}

const NO_NOTES = '(no notes were left)';
/** What a new story may leave out. */
const REST: Json = { ...UNTOUCHED, notes: '', dependsOn: [], description: '', verifyCommands: [] };

/** Nothing was changed: only omissions can be wrong, and only in the stories that this iteration was for. */
function repairUntouched(list: StoryList, rules: StoryRules): RepairedList {
  const concerned = list.userStories.filter(
    ({ id, reviewStatus }) => id === rules.story || reviewStatus === 'needs_review',
  );
  const stories = { ...list, userStories: concerned };
  const omissions = findForbiddenChanges(storiesById(stories), concerned, rules);
  return { list, forbidden: [], missing: omissions.map(({ message }) => message), repaired: false };
}

/** The trusted stories by their ids. */
type Known = ReadonlyMap<string, Story>;

/** undefined: there is no story in it. */
function repairStory(known: Known, entry: unknown, flaws: readonly Flaw[]): Story | undefined {
  if (!isObject(entry) || flaws.some(flaw => flaw.field === 'id')) return undefined;
  const was = known.get(entry.id as string);
  if (!was && flaws.some(({ field }) => !Object.hasOwn(REST, field))) return undefined;
  return { ...entry, ...fieldsOf(was ?? REST, flaws) } as unknown as Story;
}

/** A story that is done must say what was done. Only now: what may not pass needs no notes. */
function addNotes(all: readonly Story[]): {
  readonly stories: readonly Story[];
  readonly messages: readonly string[];
} {
  const isSilent = ({ passes, notes = '' }: Story) => passes && notes.trim() === '';
  return {
    stories: all.map(story => (isSilent(story) ? { ...story, notes: NO_NOTES } : story)),
    messages: all.filter(isSilent).map(story => `tasks.json: ${describeSilentStory(story.id)}.`),
  };
}

/** Unknown or circular dependencies become what they were; the trusted list has none. */
function repairGraph(known: Known, stories: readonly Story[]): readonly Story[] {
  const there = new Set(stories.map(story => story.id));
  const removed = [...known.values()].filter(was => !there.has(was.id));
  const asBefore = (story: Story): Story => ({ ...story, dependsOn: known.get(story.id)?.dependsOn ?? [] });
  const flawed = (list: readonly Story[]) =>
    new Set(findGraphFlaws([...list, ...removed]).flatMap(({ at = 0 }) => list[at]?.id ?? []));
  const bad = flawed(stories);
  const fixed = stories.map(story =>
    bad.has(story.id) || !STORY_FIELDS.dependsOn?.fits(story.dependsOn ?? []) ? asBefore(story) : story,
  );
  return flawed(fixed).size === 0 ? fixed : fixed.map(asBefore);
}

function undoChanges(
  trusted: StoryList,
  stories: readonly Story[],
  changes: readonly ForbiddenChange[],
): readonly Story[] {
  const fixed = new Map(stories.map(story => [story.id, story]));
  const missing = new Set<string>();
  for (const { undo } of changes) {
    if (undo.kind === 'restore') missing.add(undo.story);
    const story = undo.kind === 'fields' ? fixed.get(undo.story) : undefined;
    if (undo.kind === 'fields' && story) fixed.set(undo.story, { ...story, ...undo.fields });
  }
  const list = [...fixed.values()];
  trusted.userStories.forEach((story, at) => {
    if (missing.has(story.id)) list.splice(at, 0, story);
  });
  return list;
}

type AfterCap = Pick<RepairedList, 'list' | 'autoApproved'>;

/** A review that requests changes after the last allowed review: the story is approved with that feedback, or the run stops. */
function applyCap(
  trusted: StoryList,
  list: StoryList,
  { mode, reviewCap, atCap, skipReview }: StoryRules,
): AfterCap {
  if (skipReview || mode !== 'review') return { list };
  const before = storiesById(trusted);
  const at = list.userStories.findIndex(
    ({ id, reviewCount }) =>
      reviewCount >= reviewCap && reviewCount > (before.get(id)?.reviewCount ?? reviewCount),
  );
  const story = list.userStories[at];
  if (!story) return { list };
  const asksForMore = story.reviewStatus === 'changes_requested';
  const isExcused = story.reviewFeedback.startsWith(CAP_PREFIX);
  if (atCap === 'approve') {
    if (!asksForMore) return { list, ...(isExcused && { autoApproved: story }) };
    const feedback = isExcused ? story.reviewFeedback : `${CAP_PREFIX} ${story.reviewFeedback}`;
    const approved: Story = {
      ...story,
      passes: true,
      reviewStatus: 'approved',
      reviewFeedback: feedback,
      notes: (story.notes ?? '').trim() === '' ? NO_NOTES : (story.notes ?? ''),
    };
    return { list: withStory(list, at, approved), autoApproved: approved };
  }
  if (!asksForMore && !isExcused) return { list };
  // Whoever runs it wants to decide: an approval only because of the cap is none.
  const capped: Story = { ...story, passes: false, reviewStatus: 'changes_requested' };
  return { list: withStory(list, at, capped) };
}

function withStory(list: StoryList, at: number, story: Story): StoryList {
  return { ...list, userStories: list.userStories.with(at, story) };
}
