/** What was opened is closed in the opposite order, each thing once, and all of it whatever fails. */
export function createCleanUp() {
  const actions: (() => unknown)[] = [];
  const now = async (): Promise<void> => {
    const action = actions.pop();
    if (!action) return;
    try {
      await action();
    } finally {
      await now();
    }
  };
  return { later: (action: () => unknown): void => void actions.push(action), now };
}
