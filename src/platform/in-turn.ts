/** Things that are done one at a time, in the order in which they were asked for. One that fails stops no other. */
export function createTurns() {
  let last: Promise<unknown> = Promise.resolve();
  return <Value>(action: () => Promise<Value>): Promise<Value> => {
    const next = last.then(action, action);
    last = next.catch(() => {});
    return next;
  };
}
