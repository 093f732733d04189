/** What a test waits for: shut from its making, so that an early opening is not lost. */
export function createGate<Value = void>() {
  let open: (value: Value) => void = () => {};
  const opened = new Promise<Value>(resolve => {
    open = resolve;
  });
  return { open, opened };
}
