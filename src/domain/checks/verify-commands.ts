/** The verify commands of a story list: Ralph runs them, so they are the user's alone. */
import type { Story, StoryList } from '../stories/story.ts';

/** Every command of a list, each once, in its order; those of the settings first. */
export function allCommands(list: StoryList, checks: readonly string[]): readonly string[] {
  const own = list.userStories.flatMap(({ verifyCommands = [] }) => verifyCommands);
  return [...new Set([...checks, ...(list.verifyCommands ?? []), ...own])];
}

/** The commands that must pass for a story. */
export function commandsOf(
  list: StoryList,
  story: Story | undefined,
  checks: readonly string[],
): readonly string[] {
  return [...new Set([...checks, ...(list.verifyCommands ?? []), ...(story?.verifyCommands ?? [])])];
}

export interface RestoredCommands {
  readonly list: StoryList;
  /** What was changed, a sentence each. */
  readonly messages: readonly string[];
}

/** The commands as the user wrote them. What an agent would have Ralph run is shown, and not run. */
export function restoreCommands(trusted: StoryList, list: StoryList): RestoredCommands {
  const known = new Map(trusted.userStories.map(story => [story.id, story]));
  const messages = compare('', trusted.verifyCommands, list.verifyCommands);
  const userStories = list.userStories.map(story => {
    const was = known.get(story.id)?.verifyCommands;
    messages.push(...compare(` of ${story.id}`, was, story.verifyCommands));
    return withCommands(story, was);
  });
  return { list: { ...withCommands(list, trusted.verifyCommands), userStories }, messages };
}

function withCommands<Holder extends { readonly verifyCommands?: readonly string[] }>(
  holder: Holder,
  commands: readonly string[] | undefined,
): Holder {
  if (JSON.stringify(holder.verifyCommands) === JSON.stringify(commands)) return holder;
  const { verifyCommands: _, ...rest } = holder;
  return { ...rest, ...(commands && { verifyCommands: commands }) } as Holder;
}

function compare(whose: string, was: readonly string[] = [], now: readonly string[] = []): string[] {
  const added = now.filter(command => !was.includes(command));
  const lost = was.filter(command => !now.includes(command));
  return [
    ...lost.map(
      command =>
        `tasks.json: verifyCommands${whose} lost ${JSON.stringify(command)}. Only the user changes verify commands.`,
    ),
    ...added.map(
      command =>
        `tasks.json: ${JSON.stringify(command)} was added to verifyCommands${whose}. Only the user changes verify commands: it is shown to the user, and not run.`,
    ),
  ];
}
