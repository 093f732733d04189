export function partsOfHookMain(): Promise<readonly string[]>;
