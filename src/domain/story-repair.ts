/**
 * An iteration is over: what the agent left in `tasks.json` is held against the trusted list. What is not allowed is
 * undone field by field, the rest of its edit is kept, and the result is the next trusted list.
 */
import { isObject, type Json } from './json.ts';
import {
  type Flaw,
  graphFlaws,
  listFlaws,
  STORY_FIELDS,
  type Story,
  type StoryList,
  silentStory,
  UNTOUCHED,
} from './story.ts';
import { type Offence, type Terms, transitionOffences } from './transitions.ts';

export interface Settled {
  readonly list: StoryList;
  /** What was changed and may not be, a sentence each; it is undone in `list`. */
  readonly offences: readonly string[];
  /** What should have been done and was not. */
  readonly missing: readonly string[];
  /** Whether the list differs from what the agent left. */
  readonly repaired: boolean;
  /** Approved because its reviews are used up. */
  readonly autoApproved?: Story;
}

/** Before the feedback of a story that was approved because its reviews are used up. */
export const CAP_PREFIX = '[AUTO-APPROVED AT CAP]';

/** `left` is the JSON that the agent left; undefined when there is none that can be read. The trusted list itself: it changed nothing. */
export function settle(trusted: StoryList, left: unknown, terms: Terms): Settled {
  if (left === trusted) return untouched(trusted, terms);
  if (!isObject(left) || !Array.isArray(left.userStories)) {
    const what = left === undefined ? 'cannot be read any more' : 'is no story list any more';
    return { list: trusted, offences: [`tasks.json ${what}.`], missing: [], repaired: true };
  }
  const read = readable(trusted, left, left.userStories);
  const offences = transitionOffences(snapshotOf(trusted), read.list.userStories, terms);
  const told = (isOmission: boolean) =>
    offences.filter(({ fix }) => (fix.kind === 'none') === isOmission).map(offence => offence.message);
  const noted = withNotes(undone(trusted, read.list.userStories, offences));
  const lawful = { ...read.list, userStories: noted.stories };
  const { list, ...atCap } = applyCap(trusted, lawful, terms);
  const messages = [...read.messages, ...told(false), ...noted.messages];
  // Nothing may be left that the next iteration could not start from.
  if (listFlaws(list).length > 0)
    return {
      list: trusted,
      offences: [...messages, 'tasks.json was put back whole.'],
      missing: [],
      repaired: true,
    };
  const repaired = JSON.stringify(list) !== JSON.stringify(left);
  return { list, offences: messages, missing: told(true), repaired, ...atCap };
}

export function snapshotOf({ userStories }: StoryList): ReadonlyMap<string, Story> {
  return new Map(userStories.map(story => [story.id, story]));
}

interface Readable {
  readonly list: StoryList;
  readonly messages: readonly string[];
}

/** Check 1, fixed: a field that cannot be what it is becomes what it was. */
function readable(trusted: StoryList, left: Json, entries: readonly unknown[]): Readable {
  const flaws = listFlaws(left).filter(flaw => !flaw.isAboutNotes);
  const messages = flaws.map(flaw => `tasks.json: ${flaw.message}.`);
  const top = flaws.filter(flaw => flaw.at === undefined);
  const known = snapshotOf(trusted);
  const flawsAt = new Map<number | undefined, Flaw[]>();
  for (const flaw of flaws) flawsAt.set(flaw.at, [...(flawsAt.get(flaw.at) ?? []), flaw]);
  const stories = entries.flatMap((entry, at) => {
    const own = (flawsAt.get(at) ?? []).filter(flaw => flaw.field !== 'dependsOn');
    return mendedStory(known, entry, own) ?? [];
  });
  const lost = (trusted.verifyCommands ?? []).filter(
    command => !(Array.isArray(left.verifyCommands) ? left.verifyCommands : []).includes(command),
  );
  const list = {
    ...left,
    ...fieldsOf(trusted, top),
    ...(lost.length > 0 && { verifyCommands: trusted.verifyCommands }),
    userStories: mendedGraph(known, stories),
  } as StoryList;
  const weaker = lost.map(
    command =>
      `tasks.json: verifyCommands lost ${JSON.stringify(command)}. Commands may be added, never removed.`,
  );
  return { list, messages: [...messages, ...weaker] };
}

/** The named fields as they were; one that was not there goes. */
function fieldsOf(from: object, flaws: readonly Flaw[]): Json {
  const known = from as Json;
  return Object.fromEntries(flaws.map(({ field }) => [field, known[field]]));
}

const NO_NOTES = '(no notes were left)';
/** What a new story may leave out. */
const REST: Json = { ...UNTOUCHED, notes: '', dependsOn: [], description: '' };

/** Nothing was changed: only what should have been done can be wrong, and only in those that it could have been done to. */
function untouched(list: StoryList, terms: Terms): Settled {
  const concerned = list.userStories.filter(
    ({ id, reviewStatus }) => id === terms.story || reviewStatus === 'needs_review',
  );
  const stories = { ...list, userStories: concerned };
  const offences = transitionOffences(snapshotOf(stories), concerned, terms);
  return { list, offences: [], missing: offences.map(({ message }) => message), repaired: false };
}

/** The trusted stories by their ids. */
type Known = ReadonlyMap<string, Story>;

/** undefined: there is no story in it. */
function mendedStory(known: Known, entry: unknown, flaws: readonly Flaw[]): Story | undefined {
  if (!isObject(entry) || flaws.some(flaw => flaw.field === 'id')) return undefined;
  const was = known.get(entry.id as string);
  if (!was && flaws.some(({ field }) => !Object.hasOwn(REST, field))) return undefined;
  return { ...entry, ...fieldsOf(was ?? REST, flaws) } as unknown as Story;
}

/** A story that is done must say what was done. Only now: what may not pass needs no notes. */
function withNotes(all: readonly Story[]): {
  readonly stories: readonly Story[];
  readonly messages: readonly string[];
} {
  const isSilent = ({ passes, notes = '' }: Story) => passes && notes.trim() === '';
  return {
    stories: all.map(story => (isSilent(story) ? { ...story, notes: NO_NOTES } : story)),
    messages: all.filter(isSilent).map(story => `tasks.json: ${silentStory(story.id)}.`),
  };
}

/** Dependencies that lead nowhere or in a circle become what they were; as the trusted ones are, no list has any. */
function mendedGraph(known: Known, stories: readonly Story[]): readonly Story[] {
  const there = new Set(stories.map(story => story.id));
  const removed = [...known.values()].filter(was => !there.has(was.id));
  const asBefore = (story: Story): Story => ({ ...story, dependsOn: known.get(story.id)?.dependsOn ?? [] });
  const flawed = (list: readonly Story[]) =>
    new Set(graphFlaws([...list, ...removed]).flatMap(({ at = 0 }) => list[at]?.id ?? []));
  const bad = flawed(stories);
  const fixed = stories.map(story =>
    bad.has(story.id) || !STORY_FIELDS.dependsOn?.fits(story.dependsOn ?? []) ? asBefore(story) : story,
  );
  return flawed(fixed).size === 0 ? fixed : fixed.map(asBefore);
}

function undone(
  trusted: StoryList,
  stories: readonly Story[],
  offences: readonly Offence[],
): readonly Story[] {
  const fixed = new Map(stories.map(story => [story.id, story]));
  const missing = new Set<string>();
  for (const { fix } of offences) {
    if (fix.kind === 'put-back') missing.add(fix.story);
    const story = fix.kind === 'fields' ? fixed.get(fix.story) : undefined;
    if (fix.kind === 'fields' && story) fixed.set(fix.story, { ...story, ...fix.fields });
  }
  const list = [...fixed.values()];
  trusted.userStories.forEach((story, at) => {
    if (missing.has(story.id)) list.splice(at, 0, story);
  });
  return list;
}

type AfterCap = Pick<Settled, 'list' | 'autoApproved'>;

/** A review that asks for changes once more than the cap allows: the story is let through with what was said, or the run stops. */
function applyCap(
  trusted: StoryList,
  list: StoryList,
  { mode, reviewCap, atCap, skipReview }: Terms,
): AfterCap {
  if (skipReview || mode !== 'review') return { list };
  const before = snapshotOf(trusted);
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
